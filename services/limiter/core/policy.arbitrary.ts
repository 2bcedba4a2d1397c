import fc from 'fast-check'
import type { Rule } from '../../bucket/rule.ts'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import type { Condition, CountingPolicy, Override, Pattern, Policy, PolicySet } from './policy.ts'

// Few names and values, so that policies meet requests often.
const anyAttribute = fc.constantFrom('client', 'plan', 'route')
export const anyValue = fc.constantFrom('a', 'ab', 'b')

// With these periods a microsecond brings whole nano-tokens: no verdict hangs on a rounding. Small, so that buckets run empty.
const anyRule: fc.Arbitrary<Rule> = fc.record({
  capacityTokens: fc.integer({ min: 1, max: 12 }),
  refillTokens: fc.integer({ min: 1, max: 3 }),
  periodS: fc.constantFrom(1, 2, 5, 10),
})

const anyPattern: fc.Arbitrary<Pattern> = fc.record({ kind: fc.constantFrom('exact', 'prefix'), value: anyValue })
const anyCondition: fc.Arbitrary<Condition> = fc.record({
  attribute: anyAttribute,
  anyOf: fc.array(anyPattern, { minLength: 1, maxLength: 2 }),
})

const anyOverride = (by: readonly string[]): fc.Arbitrary<Override> =>
  fc.record({
    values: fc.subarray([...by], { minLength: 1 }).chain((names) => {
      const values = fc.array(anyValue, { minLength: names.length, maxLength: names.length })
      return values.map((chosen) => new Map(names.map((name, index) => [name, chosen[index] ?? ''])))
    }),
    rule: anyRule,
  })

const anyName = fc.nat({ max: 3 }).map((index) => policyName(`policy-${index}`))

const anyCountingPolicy: fc.Arbitrary<Omit<CountingPolicy, 'name'>> = fc
  .subarray(['client', 'plan', 'route'])
  .chain((by) =>
    fc.record({
      kind: fc.constant('counting' as const),
      conditions: fc.array(anyCondition, { maxLength: 2 }),
      unless: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(anyCondition, { maxLength: 2 })),
      replaces: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(anyName, { maxLength: 1 })),
      by: fc.constant(by),
      rule: anyRule,
      overrides: by.length === 0 ? fc.constant([]) : fc.array(anyOverride(by), { maxLength: 2 }),
      mode: fc.constantFrom('enforce', 'enforce', 'shadow'),
      onStoreFailure: fc.constantFrom('share', 'allow', 'deny'),
    }),
  )

const anyExemptPolicy = fc.record({
  kind: fc.constant('exempt' as const),
  conditions: fc.array(anyCondition, { minLength: 2, maxLength: 2 }),
})

/** Sets of up to four policies over the attributes client (the subject), plan and route. */
export const anyPolicySet: fc.Arbitrary<PolicySet> = fc
  .array(fc.oneof({ weight: 8, arbitrary: anyCountingPolicy }, { weight: 1, arbitrary: anyExemptPolicy }), {
    maxLength: 4,
  })
  .map((drafts) => ({
    domain: domainName('api'),
    subject: 'client',
    policies: drafts.map((draft, index): Policy => ({ ...draft, name: policyName(`policy-${index}`) })),
  }))
