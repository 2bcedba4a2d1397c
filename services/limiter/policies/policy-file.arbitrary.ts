import fc from 'fast-check'
import { stringify } from 'yaml'
import { makeRule, type Rule } from '../../bucket/rule.ts'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import type { Condition, Pattern, Policy, PolicySet } from '../core/policy.ts'

const attribute = fc.oneof(
  fc.constantFrom('client', 'plan', 'route', 'method', 'user id', 'constructor', '1', 'null', '<<', 'ü'),
  fc.string({ minLength: 1, maxLength: 8 }).filter((name) => name !== '__proto__'),
)
// What an override calls its own fields cannot name its buckets.
const countable = attribute.filter((name) => !['policy', 'capacity', 'refill'].includes(name))
const value = fc.oneof(
  fc.constantFrom('free', 'true', '42', '', '~', 'a: b', '# c', 'GET /v1/orders/{id}'),
  fc.string(),
)
const exactValue = value.filter((text) => !text.includes('*'))
const prefix = exactValue.map((text): Pattern => ({ kind: 'prefix', value: text }))
const pattern = fc.oneof(
  exactValue.map((text): Pattern => ({ kind: 'exact', value: text })),
  prefix,
)
const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/)

const rule = fc
  .tuple(
    fc.integer({ min: 1, max: 4_500_000 }),
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.integer({ min: 1, max: 99_999 }),
  )
  .map((numbers) => makeRule(...numbers))
  .filter((made) => made.ok)
  .map((made): Rule => made.rule)

const conditions: fc.Arbitrary<readonly Condition[]> = fc
  .uniqueArray(attribute, { maxLength: 3 })
  // A mapping has no order, and JavaScript lists whole numbers first.
  .map((names) => Object.keys(Object.fromEntries(names.map((one) => [one, undefined]))))
  .chain((names) =>
    fc.tuple(
      ...names.map((one) =>
        fc.record({ attribute: fc.constant(one), anyOf: fc.array(pattern, { minLength: 1, maxLength: 3 }) }),
      ),
    ),
  )

const overridesFor = (by: readonly string[]) =>
  by.length === 0
    ? fc.constant([])
    : fc
        .uniqueArray(
          fc.record({
            values: fc
              .subarray([...by].sort(), { minLength: 1 })
              .chain((names) =>
                fc
                  .tuple(...names.map((one) => fc.tuple(fc.constant(one), exactValue)))
                  .map((entries) => new Map(entries)),
              ),
            rule,
          }),
          { selector: ({ values }) => JSON.stringify([...values]), maxLength: 4 },
        )
        .map((overrides) => overrides.sort((a, b) => b.values.size - a.values.size))

const counting = fc.uniqueArray(countable, { maxLength: 3 }).chain((by) =>
  fc.record({
    kind: fc.constant('counting' as const),
    name: name.map(policyName),
    conditions,
    unless: conditions,
    by: fc.constant(by),
    rule,
    overrides: overridesFor(by),
    mode: fc.constantFrom('enforce', 'shadow'),
    onStoreFailure: fc.constantFrom('share', 'allow', 'deny'),
  }),
)
const exempt = fc.record({ kind: fc.constant('exempt' as const), name: name.map(policyName), conditions })
const policy: fc.Arbitrary<Policy> = fc.oneof({ weight: 4, arbitrary: counting }, exempt)

export const policySet: fc.Arbitrary<PolicySet> = fc.record({
  domain: fc.stringMatching(/^[a-zA-Z0-9_./:-]{1,20}$/).map(domainName),
  subject: attribute,
  policies: fc.uniqueArray(policy, { selector: (one) => one.name, maxLength: 5 }),
})

/** A document that says all of the set, as somebody might have written it. */
export const writeDocument = (set: PolicySet) => ({
  domain: set.domain,
  subject: set.subject,
  policies: set.policies.map((one) => ({
    name: one.name,
    match: writeConditions(one.conditions),
    ...(one.unless !== undefined && { unless: writeConditions(one.unless) }),
    ...(one.kind === 'exempt'
      ? { exempt: true }
      : { by: one.by, ...writeRule(one.rule), mode: one.mode, onStoreFailure: one.onStoreFailure }),
  })),
  overrides: set.policies.flatMap((one) =>
    one.kind === 'exempt'
      ? []
      : one.overrides.map(({ values, rule }) => ({
          policy: one.name,
          ...Object.fromEntries(values),
          ...writeRule(rule),
        })),
  ),
})

export const toYaml = (set: PolicySet) => stringify(writeDocument(set))

const writeConditions = (written: readonly Condition[]) =>
  Object.fromEntries(written.map(({ attribute, anyOf }) => [attribute, writePatterns(anyOf)]))

const writePatterns = (anyOf: readonly Pattern[]) => {
  const written = anyOf.map(({ kind, value }) => (kind === 'prefix' ? `${value}*` : value))
  return written.length === 1 ? written[0] : written
}

const writeRule = ({ capacityTokens, refillTokens, periodS }: Rule) => ({
  capacity: capacityTokens,
  refill: `${refillTokens} per ${periodS}s`,
})
