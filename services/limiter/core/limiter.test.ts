import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Check, domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { createLimiterOracle } from './limiter.oracle.ts'
import { createLimiter } from './limiter.ts'
import { createMemoryStore } from './memory-store.ts'
import { type Observer, silentObserver } from './observer.ts'
import { anyPolicySet, anyValue } from './policy.arbitrary.ts'
import type { CountingPolicy, Policy, PolicySet, PolicySets } from './policy.ts'
import type { BucketStore } from './store.ts'

const START_US = 1_700_000_000_000_000

const open = (
  policies: readonly Policy[],
  options: { readonly store?: BucketStore; readonly observer?: Observer } = {},
) => {
  const clock = { nowUs: START_US }
  const set: PolicySet = { domain: domainName('api'), subject: 'client', policies }
  let sets: PolicySets = new Map([[set.domain, set]])
  const store = options.store ?? createMemoryStore({ nowUs: () => clock.nowUs })
  const limiter = createLimiter({
    policies: () => sets,
    store,
    localStore: createMemoryStore({ nowUs: () => clock.nowUs }),
    observer: options.observer ?? silentObserver,
  })
  const replacePolicies = (next: readonly Policy[]) => {
    sets = new Map([[set.domain, { ...set, policies: next }]])
  }
  return { limiter, clock, replacePolicies }
}

const check = (attributes: Readonly<Record<string, string>>, cost = 1, domain = 'api'): Check => ({
  domain: domainName(domain),
  attributes: new Map(Object.entries(attributes)),
  cost,
})

const policy = (name: string, changes: Partial<CountingPolicy> = {}): CountingPolicy => ({
  kind: 'counting',
  name: policyName(name),
  conditions: [],
  by: ['client'],
  rule: { capacityTokens: 10, refillTokens: 1, periodS: 1 },
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
  ...changes,
})

const narrow = { capacityTokens: 2, refillTokens: 1, periodS: 60 }

describe('the limiter', () => {
  test('answers what exact arithmetic over the plainest reading of the policies answers', async () => {
    const anyRequest = fc.record({
      attributes: fc.record({ client: anyValue, plan: anyValue, route: anyValue }, { requiredKeys: ['client'] }),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 14 })),
      elapsedUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000_000 })),
    })
    let refusals = 0
    await fc.assert(
      fc.asyncProperty(anyPolicySet, fc.array(anyRequest, { minLength: 5, maxLength: 40 }), async (set, requests) => {
        const { limiter, clock } = open(set.policies)
        const oracle = createLimiterOracle(set)
        for (const { elapsedUs, ...request } of requests) {
          clock.nowUs += elapsedUs
          const expected = oracle(request, clock.nowUs)
          const checked = await limiter.shouldAllow(check(request.attributes, request.cost))
          if (!checked.ok) throw new Error('a well-formed check was refused')
          const { decision, shadows } = checked.answer
          if (decision.verdict === 'deny') refusals += 1
          expect({
            verdict: decision.verdict,
            basis: decision.basis,
            shadows: Object.fromEntries(shadows.map((shadow) => [shadow.policy, shadow.verdict])),
          }).toEqual(expected)
        }
      }),
      { numRuns: 3_000 },
    )
    // The property would hold of a limiter that was never asked anything hard.
    expect(refusals).toBeGreaterThan(1_000)
  })

  test('a refusal by one policy charges none', async () => {
    const { limiter } = open([policy('wide'), policy('narrow', { rule: narrow })])
    for (let index = 0; index < 20; index += 1) await limiter.shouldAllow(check({ client: 'a' }))
    const peeked = await limiter.peek(check({ client: 'a' }))
    expect(peeked).toMatchObject({
      ok: true,
      quotas: [
        { policy: 'wide', quota: { remaining: 8 } },
        { policy: 'narrow', quota: { remaining: 0 } },
      ],
    })
  })

  test('a pass reports the policy with the smallest remaining/limit', async () => {
    const large = policy('large', { rule: { capacityTokens: 100, refillTokens: 1, periodS: 60 } })
    const small = policy('small', { conditions: [{ attribute: 'plan', anyOf: [{ kind: 'exact', value: 'free' }] }] })
    const { limiter } = open([small, large])
    await limiter.shouldAllow(check({ client: 'a' }, 49))
    // 9 of 10 are left in the small bucket, 50 of 100 in the large one.
    expect(await limiter.shouldAllow(check({ client: 'a', plan: 'free' }))).toMatchObject({
      answer: {
        decision: {
          verdict: 'allow',
          basis: 'bucket',
          policy: 'large',
          quota: { limit: 100, remaining: 50, resetAfterMs: 3_000_000, refillTokens: 1, refillPeriodMs: 60_000 },
        },
      },
    })
  })

  test('a refusal reports the policy with the longest wait', async () => {
    const fast = policy('fast', { rule: { capacityTokens: 2, refillTokens: 1, periodS: 1 } })
    const { limiter } = open([fast, policy('slow', { rule: narrow })])
    await limiter.shouldAllow(check({ client: 'a' }, 2))
    expect(await limiter.shouldAllow(check({ client: 'a' }, 2))).toMatchObject({
      answer: { decision: { verdict: 'deny', policy: 'slow', retryAfterMs: 120_000, quota: { remaining: 0 } } },
    })
  })

  test('a cost above the capacity is refused as never satisfiable, and charges nothing', async () => {
    const { limiter } = open([policy('wide'), policy('narrow', { rule: narrow })])
    expect(await limiter.shouldAllow(check({ client: 'a' }, 3))).toMatchObject({
      answer: { decision: { verdict: 'deny', basis: 'never_satisfiable', policy: 'narrow' } },
    })
    expect(await limiter.shouldAllow(check({ client: 'a' }, 2))).toMatchObject({
      answer: { decision: { verdict: 'allow' } },
    })
  })

  test('without the subject there is no answer, and the fault names the attribute', async () => {
    const { limiter } = open([policy('any')])
    for (const attributes of [{}, { client: '' }, { plan: 'free' }])
      expect(await limiter.shouldAllow(check(attributes))).toMatchObject({
        ok: false,
        fault: { kind: 'invalid', field: 'attributes.client' },
      })
  })

  test('an unknown domain has no answer, and the fault names the known ones', async () => {
    const { limiter } = open([])
    expect(await limiter.shouldAllow(check({ client: 'a' }, 1, 'shop'))).toEqual({
      ok: false,
      fault: { kind: 'unknown_domain', domain: 'shop', knownDomains: ['api'] },
    })
  })

  test('a policy that counts by an attribute that the request lacks does not match, and that is observed', async () => {
    const uncountable: string[] = []
    const observer = {
      ...silentObserver,
      uncountable: (_: unknown, { name }: CountingPolicy) => uncountable.push(name),
    }
    const { limiter } = open([policy('by-tenant', { by: ['client', 'tenant'] })], { observer })
    expect(await limiter.shouldAllow(check({ client: 'a' }))).toMatchObject({
      answer: { decision: { basis: 'no_policy' } },
    })
    expect(uncountable).toEqual(['by-tenant'])
  })

  test('a lowered capacity holds from the next check on, a raised one leaves what was spent spent', async () => {
    const { limiter, replacePolicies } = open([policy('p')])
    await limiter.shouldAllow(check({ client: 'a' }, 4))
    replacePolicies([policy('p', { rule: { capacityTokens: 5, refillTokens: 1, periodS: 1 } })])
    expect(await limiter.peek(check({ client: 'a' }))).toMatchObject({
      quotas: [{ quota: { limit: 5, remaining: 1 } }],
    })
    replacePolicies([policy('p', { rule: { capacityTokens: 20, refillTokens: 1, periodS: 1 } })])
    expect(await limiter.peek(check({ client: 'a' }))).toMatchObject({
      quotas: [{ quota: { limit: 20, remaining: 16 } }],
    })
  })

  test('a reset fills the buckets of the attributes given, of one policy or of all', async () => {
    const { limiter } = open([policy('one'), policy('two')])
    for (const client of ['a', 'b']) await limiter.shouldAllow(check({ client }, 10))
    expect(await limiter.reset(check({ client: 'a' }), 'two')).toEqual({ ok: true, policies: ['two'] })
    expect(await limiter.peek(check({ client: 'a' }))).toMatchObject({
      quotas: [{ quota: { remaining: 0 } }, { quota: { remaining: 10 } }],
    })
    expect(await limiter.reset(check({ client: 'a' }), undefined)).toEqual({ ok: true, policies: ['one', 'two'] })
    expect(await limiter.peek(check({ client: 'b' }))).toMatchObject({
      quotas: [{ quota: { remaining: 0 } }, { quota: { remaining: 0 } }],
    })
    expect(await limiter.reset(check({ client: 'a' }), 'three')).toMatchObject({
      ok: false,
      fault: { field: 'policy' },
    })
  })

  test('when the store is away, a policy that says share is counted here, and those that say allow step aside', async () => {
    const store: BucketStore = {
      take: async () => ({ kind: 'unavailable', settle: async () => [] }),
      reset: async () => ({ kind: 'unavailable' }),
    }
    const { limiter } = open([policy('lenient', { rule: narrow, onStoreFailure: 'allow' }), policy('shared')], {
      store,
    })
    const bases = []
    for (let index = 0; index < 12; index += 1) {
      const checked = await limiter.shouldAllow(check({ client: 'a' }))
      bases.push(checked.ok && `${checked.answer.decision.verdict} by ${checked.answer.decision.basis}`)
    }
    expect(bases).toEqual([...Array(10).fill('allow by share'), 'deny by share', 'deny by share'])
  })

  test('when the store is away, a policy that says deny decides; otherwise the request passes, uncounted', async () => {
    const store: BucketStore = {
      take: async () => ({ kind: 'unavailable', settle: async () => [] }),
      reset: async () => ({ kind: 'unavailable' }),
    }
    const deny = policy('strict', { onStoreFailure: 'deny' })
    const allow = policy('lenient', { onStoreFailure: 'allow' })
    const decisionOf = async (policies: readonly Policy[]) =>
      open(policies, { store }).limiter.shouldAllow(check({ client: 'a' }))
    expect(await decisionOf([allow, deny])).toMatchObject({
      answer: { decision: { verdict: 'deny', basis: 'store_unavailable', policy: 'strict' } },
    })
    expect(await decisionOf([allow])).toMatchObject({
      answer: { decision: { verdict: 'allow', basis: 'store_unavailable', policy: 'lenient' } },
    })
    expect(await decisionOf([{ ...deny, mode: 'shadow' }])).toMatchObject({
      answer: { decision: { verdict: 'allow', basis: 'no_policy' } },
    })
  })
})
