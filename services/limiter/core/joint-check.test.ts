import { describe, expect, test } from 'vitest'
import type { Rule } from '../../bucket/rule.ts'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { createLimiter } from './limiter.ts'
import { createMemoryStore } from './memory-store.ts'
import { silentObserver } from './observer.ts'
import type { Condition, CountingPolicy, Policy } from './policy.ts'
import type { BucketStore } from './store.ts'

const api = domainName('api')
const three: Rule = { capacityTokens: 3, refillTokens: 1, periodS: 3600 }
const ten: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 3600 }

const is = (attribute: string, value: string): Condition => ({ attribute, anyOf: [{ kind: 'exact', value }] })

const counting = (name: string, by: readonly string[], changes: Partial<CountingPolicy> = {}): CountingPolicy => ({
  kind: 'counting',
  name: policyName(name),
  conditions: [],
  by,
  rule: three,
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
  ...changes,
})

type Part = readonly [attributes: Readonly<Record<string, string>>, cost?: number, limit?: Rule]

const away: BucketStore = {
  take: async () => ({ kind: 'unavailable', settle: async () => [] }),
  reset: async () => ({ kind: 'unavailable' }),
}

const open = (policies: readonly Policy[], store?: BucketStore) => {
  const uncountable: string[] = []
  const nowUs = () => 1_700_000_000_000_000
  const limiter = createLimiter({
    policies: () => new Map([[api, { domain: api, subject: 'client', policies }]]),
    store: store ?? createMemoryStore({ nowUs }),
    localStore: createMemoryStore({ nowUs }),
    observer: { ...silentObserver, uncountable: (_, { name }) => uncountable.push(name) },
  })
  /** Each part's decision in a few words: `allow per-client 2` has 2 tokens left. */
  const ask = async (...parts: readonly Part[]) => {
    const checked = await limiter.shouldAllowTogether({
      domain: api,
      parts: parts.map(([attributes, cost = 1, limit]) => ({
        attributes: new Map(Object.entries(attributes)),
        cost,
        ...(limit !== undefined && { limit }),
      })),
    })
    if (!checked.ok) throw new Error(JSON.stringify(checked.fault))
    return checked.answers.map(({ decision }) =>
      'quota' in decision
        ? `${decision.verdict} ${decision.policy} ${decision.quota.remaining}`
        : `${decision.verdict} ${decision.basis}`,
    )
  }
  return { ask, uncountable, limiter }
}

const client: Part = [{ client: 'a' }]
const tenant: Part = [{ tenant: 't' }]

describe('a request of several parts', () => {
  test('pays for all of them', async () => {
    const { ask } = open([counting('per-client', ['client']), counting('per-tenant', ['tenant'], { rule: ten })])
    expect(await ask(client, tenant)).toEqual(['allow per-client 2', 'allow per-tenant 9'])
    expect(await ask(client, tenant)).toEqual(['allow per-client 1', 'allow per-tenant 8'])
  })

  test('pays for none when one is refused, whichever it is', async () => {
    const { ask } = open([counting('per-client', ['client'], { rule: ten }), counting('per-tenant', ['tenant'])])
    for (const left of [2, 1, 0]) expect((await ask(client, tenant))[1]).toBe(`allow per-tenant ${left}`)
    for (let refusal = 0; refusal < 5; refusal += 1) expect((await ask(client, tenant))[1]).toBe('deny per-tenant 0')
    expect(await ask(client)).toEqual(['allow per-client 6'])
  })

  test('a part that no policy matches and one that is exempt pass beside the others', async () => {
    const { ask } = open([
      counting('per-client', ['client']),
      { kind: 'exempt', name: policyName('inner'), conditions: [is('network', 'inner')] },
    ])
    expect(await ask([{ color: 'red' }], [{ network: 'inner' }], client)).toEqual([
      'allow no_policy',
      'allow exempt',
      'allow per-client 2',
    ])
  })

  test('two parts of one bucket take both costs from it, or neither', async () => {
    const { ask } = open([counting('per-client', ['client'])])
    expect(await ask(client, client)).toEqual(['allow per-client 1', 'allow per-client 1'])
    expect(await ask(client, client)).toEqual(['deny per-client 1', 'deny per-client 1'])
    expect(await ask(client)).toEqual(['allow per-client 0'])
  })

  test('each part has its own cost; one above a capacity is never satisfiable, and nobody pays', async () => {
    const { ask } = open([counting('per-client', ['client'], { rule: ten }), counting('per-tenant', ['tenant'])])
    expect(await ask([{ client: 'a' }, 4], [{ tenant: 't' }, 2])).toEqual(['allow per-client 6', 'allow per-tenant 1'])
    expect(await ask([{ client: 'a' }, 4], [{ tenant: 't' }, 2])).toEqual(['allow per-client 6', 'deny per-tenant 1'])
    expect(await ask([{ client: 'a' }, 4], [{ tenant: 't' }, 4])).toEqual([
      'allow per-client 6',
      'deny never_satisfiable',
    ])
    expect(await ask([{ client: 'a' }, 6], [{ tenant: 't' }, 1])).toEqual(['allow per-client 0', 'allow per-tenant 0'])
  })

  test('a cost of 0 charges nothing, and is refused where no token is left', async () => {
    const { ask } = open([counting('per-client', ['client']), counting('per-tenant', ['tenant'], { rule: ten })])
    expect(await ask([{ client: 'a' }, 0], tenant)).toEqual(['allow per-client 3', 'allow per-tenant 9'])
    await ask([{ client: 'a' }, 3])
    expect(await ask([{ client: 'a' }, 0], tenant)).toEqual(['deny per-client 0', 'allow per-tenant 9'])
    expect(await ask(tenant)).toEqual(['allow per-tenant 8'])
  })

  test('a part that brings its own numbers is counted by them, in a bucket of its own', async () => {
    const { ask } = open([counting('per-client', ['client'])])
    const limited: Part = [{ client: 'a' }, 1, { capacityTokens: 2, refillTokens: 1, periodS: 60 }]
    expect(await ask(limited)).toEqual(['allow request.limit 1'])
    expect(await ask(limited)).toEqual(['allow request.limit 0'])
    expect(await ask(limited, client)).toEqual(['deny request.limit 0', 'allow per-client 3'])
  })

  test('a policy replaces another also where that one applies to another part', async () => {
    const special = counting('special', ['client'], {
      conditions: [is('route', 'search')],
      rule: ten,
      replaces: [policyName('per-client')],
    })
    const { ask } = open([counting('per-client', ['client'], { unless: [is('route', 'search')] }), special])
    expect(await ask(client, [{ client: 'a', route: 'search' }])).toEqual(['allow no_policy', 'allow special 9'])
    expect(await ask(client)).toEqual(['allow per-client 2'])
  })

  test('in shadow a policy refuses nobody', async () => {
    const { ask } = open([
      counting('per-client', ['client'], { mode: 'shadow', rule: { ...three, capacityTokens: 1 } }),
    ])
    expect(await ask(client)).toEqual(['allow no_policy'])
    expect(await ask(client)).toEqual(['allow no_policy'])
  })

  test('an attribute that a policy counts by is missing only if no part has it', async () => {
    const { ask, uncountable } = open([counting('per-client', ['client'])])
    await ask(client, tenant)
    expect(uncountable).toEqual([])
    await ask(tenant)
    expect(uncountable).toEqual(['per-client'])
  })

  test('a sum of costs beyond 32 bits is asked for as the most that a store can be asked for', async () => {
    const memory = createMemoryStore({ nowUs: () => 0 })
    const costs: number[] = []
    const take: BucketStore['take'] = (whole) => {
      costs.push(whole.cost)
      return memory.take(whole)
    }
    const shadow = counting('per-tenant', ['tenant'], { mode: 'shadow' })
    const { ask } = open([shadow], { ...memory, take })
    const most = 4_294_967_295
    await ask([{ tenant: 'acme', path: '/a' }, most], [{ tenant: 'acme', path: '/b' }, most])
    expect(costs).toEqual([most])
  })

  test('more buckets than a store keeps for a subject are a fault', async () => {
    const { limiter } = open([counting('per-client', ['client'])])
    const parts = Array.from({ length: 129 }, (_, index) => ({
      attributes: new Map([['client', `${index}`]]),
      cost: 1,
    }))
    expect(await limiter.shouldAllowTogether({ domain: api, parts })).toMatchObject({ fault: { field: 'descriptors' } })
  })

  test('while the store is away the parts are counted here, and a policy that says deny refuses them all', async () => {
    const shared = open([counting('per-client', ['client'], { rule: ten }), counting('per-tenant', ['tenant'])], away)
    for (const left of [2, 1, 0]) expect((await shared.ask(client, tenant))[1]).toBe(`allow per-tenant ${left}`)
    expect((await shared.ask(client, tenant))[1]).toBe('deny per-tenant 0')
    expect(await shared.ask(client)).toEqual(['allow per-client 6'])

    const strict = open(
      [counting('strict', ['client'], { onStoreFailure: 'deny' }), counting('per-tenant', ['tenant'])],
      away,
    )
    expect(await strict.ask(tenant, client)).toEqual(['allow store_unavailable', 'deny store_unavailable'])
    expect(await strict.ask(tenant)).toEqual(['allow per-tenant 2'])

    const lenient = open([counting('lenient', ['client'], { onStoreFailure: 'allow' })], away)
    expect(await lenient.ask(client)).toEqual(['allow store_unavailable'])
  })
})
