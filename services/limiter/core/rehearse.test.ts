import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Attributes, type Check, domainName } from '../../contract/check.ts'
import { policyName, type Verdict } from '../../contract/decision.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { createMemoryStore } from './memory-store.ts'
import { silentObserver } from './observer.ts'
import { anyPolicySet, anyValue } from './policy.arbitrary.ts'
import type { CountingPolicy, PolicySet } from './policy.ts'
import { type Met, rehearse } from './rehearse.ts'
import type { BucketStore } from './store.ts'

const START_US = 1_700_000_000_000_000

const anyRequest = fc.record({
  attributes: fc.record({ client: anyValue, plan: anyValue, route: anyValue }, { requiredKeys: ['client'] }),
  cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 14 })),
  elapsedUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5_000_000 })),
})
type Request = typeof anyRequest extends fc.Arbitrary<infer T> ? T : never

const check = ({ attributes, cost }: Pick<Request, 'attributes' | 'cost'>): Check => ({
  domain: domainName('api'),
  attributes: new Map(Object.entries(attributes)),
  cost,
})

const limiterOf = (set: PolicySet, store: BucketStore): Limiter =>
  createLimiter({ policies: () => new Map([[set.domain, set]]), store, localStore: store, observer: silentObserver })

/** The live set alone, or with another beside it: what callers were told, and what was compared. */
const play = async (requests: readonly Request[], live: PolicySet, candidate?: PolicySet) => {
  const clock = { nowUs: START_US }
  const open = (set: PolicySet) => limiterOf(set, createMemoryStore({ nowUs: () => clock.nowUs }))
  const compared: { readonly met: Met; readonly would: Met }[] = []
  const differences = {
    compared: (_: string, met: Met, would: Met) => compared.push({ met, would }),
    skipped: () => expect.unreachable(),
  }
  const limiter =
    candidate === undefined
      ? open(live)
      : rehearse({ live: open(live), candidate: open(candidate), differences: () => differences, maxInFlight: 10 })
  const answers: unknown[] = []
  const verdicts: (Verdict | 'none')[] = []
  for (const { elapsedUs, ...request } of requests) {
    clock.nowUs += elapsedUs
    const checked = await limiter.shouldAllow(check(request))
    answers.push(checked)
    verdicts.push(checked.ok ? checked.answer.decision.verdict : 'none')
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { answers, verdicts, compared }
}

describe('a rehearsal', () => {
  test('changes no answer, and says of each request what it meets once the candidate is live', async () => {
    let differing = 0
    await fc.assert(
      fc.asyncProperty(
        anyPolicySet,
        anyPolicySet,
        fc.array(anyRequest, { minLength: 5, maxLength: 30 }),
        async (live, candidate, requests) => {
          const before = await play(requests, live)
          const rehearsed = await play(requests, live, candidate)
          const after = await play(requests, candidate)
          expect(rehearsed.answers).toEqual(before.answers)
          expect(rehearsed.compared.map(({ met }) => met.verdict)).toEqual(before.verdicts)
          expect(rehearsed.compared.map(({ would }) => would.verdict)).toEqual(after.verdicts)
          differing += before.verdicts.filter((verdict, index) => verdict !== after.verdicts[index]).length
        },
      ),
      { numRuns: 500 },
    )
    // It would hold of sets that all decide alike.
    expect(differing).toBeGreaterThan(500)
  })

  const one = (capacityTokens: number, changes: Partial<CountingPolicy> = {}): PolicySet => ({
    domain: domainName('api'),
    subject: 'client',
    policies: [
      {
        kind: 'counting',
        name: policyName('any'),
        conditions: [],
        by: ['client'],
        rule: { capacityTokens, refillTokens: 1, periodS: 3_600 },
        overrides: [],
        mode: 'enforce',
        onStoreFailure: 'share',
        ...changes,
      },
    ],
  })
  const memory = () => createMemoryStore({ nowUs: () => START_US })
  const silent: BucketStore = { take: () => new Promise(() => {}), reset: () => new Promise(() => {}) }

  const open = (live: Limiter, candidate: Limiter) => {
    const seen: (readonly [Met['verdict'], Met['verdict']] | 'skipped')[] = []
    const differences = {
      compared: (_: string, met: Met, would: Met) => seen.push([met.verdict, would.verdict]),
      skipped: () => seen.push('skipped'),
    }
    return { seen, limiter: rehearse({ live, candidate, differences: () => differences, maxInFlight: 2 }) }
  }
  const question = check({ attributes: { client: 'a' }, cost: 1 })
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test('whose store never answers keeps no caller waiting; beyond its bound requests are not rehearsed, and that is counted', async () => {
    const { limiter, seen } = open(limiterOf(one(10), memory()), limiterOf(one(1), silent))
    for (let asked = 0; asked < 5; asked += 1)
      expect(await limiter.shouldAllow(question)).toMatchObject({ answer: { decision: { verdict: 'allow' } } })
    await turn()
    expect(seen).toEqual(['skipped', 'skipped', 'skipped'])
  })

  test('that meets a bug changes no answer, and is compared with nothing', async () => {
    const broken: BucketStore = { ...silent, take: () => Promise.reject(new Error('planted')) }
    const { limiter, seen } = open(limiterOf(one(10), memory()), limiterOf(one(1), broken))
    for (let asked = 0; asked < 4; asked += 1) {
      expect(await limiter.shouldAllow(question)).toMatchObject({ ok: true })
      await turn()
    }
    expect(seen).toEqual(Array(4).fill(['allow', 'unknown']))
  })

  test('leaves a bug of the live limiter to whoever asked', async () => {
    const broken: BucketStore = { ...silent, take: () => Promise.reject(new Error('planted')) }
    const { limiter } = open(limiterOf(one(10), broken), limiterOf(one(1), silent))
    for (let asked = 0; asked < 4; asked += 1) await expect(limiter.shouldAllow(question)).rejects.toThrow('planted')
  })

  test('compares nothing that the store did not count', async () => {
    const away: BucketStore = {
      take: async () => ({ kind: 'unavailable', settle: async () => [] }),
      reset: async () => ({ kind: 'unavailable' }),
    }
    const denying = one(10, { onStoreFailure: 'deny' })
    const { limiter, seen } = open(limiterOf(denying, away), limiterOf(denying, memory()))
    expect(await limiter.shouldAllow(question)).toMatchObject({ answer: { decision: { verdict: 'deny' } } })
    await turn()
    expect(seen).toEqual([['unknown', 'allow']])
  })

  test('of a request in several parts compares the request', async () => {
    const { limiter, seen } = open(limiterOf(one(2), memory()), limiterOf(one(1), memory()))
    const attributes: Attributes = new Map([['client', 'a']])
    const parts = [
      { attributes, cost: 1 },
      { attributes: new Map([['client', 'b']]), cost: 1 },
    ]
    for (let asked = 0; asked < 3; asked += 1) {
      await limiter.shouldAllowTogether({ domain: domainName('api'), parts })
      await turn()
    }
    expect(seen).toEqual([
      ['allow', 'allow'],
      ['allow', 'deny'],
      ['deny', 'deny'],
    ])
  })

  test('is reset with the live buckets', async () => {
    const { limiter, seen } = open(limiterOf(one(1), memory()), limiterOf(one(1), memory()))
    for (let round = 0; round < 2; round += 1) {
      await limiter.shouldAllow(question)
      await limiter.reset(question, undefined)
      await turn()
    }
    expect(seen).toEqual([
      ['allow', 'allow'],
      ['allow', 'allow'],
    ])
  })
})
