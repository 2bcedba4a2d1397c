import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Check, domainName } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import type { Asked } from './channel/question.ts'
import { createLimiterClient, type GateDecision } from './client.ts'
import type { FallbackPlan } from './fallback.ts'
import { createVirtualTime } from './virtual-time.fixture.ts'

const quota = { limit: 600, remaining: 599, resetAfterMs: 20, refillTokens: 50, refillPeriodMs: 1_000 }
const fromLimiter: Decision = { verdict: 'allow', basis: 'bucket', policy: policyName('pro'), quota }
const answered: Asked = { ok: true, answer: { decision: fromLimiter, shadows: [] } }
const unavailable: Asked = { ok: false, failure: 'unavailable', detail: 'UNAVAILABLE: connection refused' }
const rejected: Asked = { ok: false, failure: 'rejected', detail: 'NOT_FOUND: no domain api' }

const check = (cost = 1): Check => ({
  domain: domainName('api'),
  attributes: new Map([['client', 'user:ada']]),
  cost,
})

const strangersCheck = { ...check(), attributes: new Map([['client', 'user:grace']]) }

const local: FallbackPlan = { kind: 'local', rule: { capacityTokens: 50, refillTokens: 10, periodS: 1 } }

type Options = { readonly fallback?: FallbackPlan; readonly maxWaiting?: number }

const openClient = ({ fallback = local, maxWaiting = 500 }: Options = {}) => {
  const time = createVirtualTime()
  const questions: ((asked: Asked) => void)[] = []
  const events: string[] = []
  const client = createLimiterClient({
    transport: {
      ask: () => new Promise((resolve) => questions.push(resolve)),
      [Symbol.asyncDispose]: async () => void events.push('transport closed'),
    },
    fallback,
    maxWaiting,
    monotonicClock: time.monotonicClock,
    timers: time.timers,
    randomness: () => 0.5,
    observe: {
      decided: ({ source }, elapsedUs) => events.push(`${source} after ${elapsedUs / 1_000} ms`),
      failed: (failure, detail) => events.push(`${failure}: ${detail}`),
      answeredLate: () => events.push('answered late'),
      breakerChanged: (state) => events.push(`breaker ${state}`),
    },
  })
  const decisions: GateDecision[] = []
  const ask = (one = check()) => void client.shouldAllow(one).then((gate) => decisions.push(gate))
  return { client, time, questions, events, decisions, ask }
}

const reasonOf = (gate: GateDecision | undefined) => (gate?.source === 'fallback' ? gate.reason : gate?.source)

test('what the limiter decides is passed on', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  ask()
  await time.pass(3)
  questions[0]?.(answered)
  await time.pass(0)
  expect(time.pendingTimers()).toBe(0)
  await time.pass(1_000)
  expect(decisions).toEqual([{ source: 'limiter', decision: fromLimiter }])
  expect(events).toEqual(['limiter after 3 ms'])
})

test('a limiter that says nothing is answered for at the deadline, from a bucket of the client', async () => {
  const { time, events, decisions, ask } = openClient()
  ask()
  await time.pass(49)
  expect(decisions).toEqual([])
  await time.pass(1)
  expect(decisions).toMatchObject([
    {
      source: 'fallback',
      reason: 'deadline_exceeded',
      decision: { verdict: 'allow', basis: 'share', policy: 'local-fallback', quota: { limit: 50, remaining: 49 } },
    },
  ])
  expect(events).toEqual(['deadline_exceeded: no answer within 50 ms', 'fallback after 50 ms'])
})

test('an answer that comes later is counted, and changes nothing', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  ask()
  await time.pass(60)
  questions[0]?.(answered)
  await time.pass(1_000)
  expect(decisions.map(reasonOf)).toEqual(['deadline_exceeded'])
  expect(events.at(-1)).toBe('answered late')
})

test('an answer that arrived while the process stood still wins, however late the deadline is noticed', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  for (let time = 0; time < 200; time += 1) ask()
  await time.pass(1)
  time.block(300)
  for (const answer of questions) time.arrive(() => answer(answered))
  await time.pass(100)
  expect(decisions.filter(({ source }) => source === 'limiter')).toHaveLength(200)
  expect(new Set(events)).toEqual(new Set(['limiter after 301 ms']))
})

test('standing still does not count as a failure of the limiter', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  for (let round = 0; round < 30; round += 1) {
    ask()
    time.block(200)
    await time.pass(0)
    ask()
    time.block(40)
    await time.pass(10)
  }
  expect(decisions.map(reasonOf)).toEqual(Array.from({ length: 60 }, () => 'deadline_exceeded'))
  expect(events).not.toContain('breaker open')
  ask()
  expect(questions).toHaveLength(61)
})

test('after five failures nobody waits any more; one probe at a time finds the limiter again', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  for (let call = 0; call < 5; call += 1) {
    ask()
    await time.pass(0)
    questions.at(-1)?.(unavailable)
    await time.pass(0)
  }
  expect(events.filter((event) => event.startsWith('breaker'))).toEqual(['breaker open'])

  for (let call = 0; call < 10; call += 1) ask()
  await time.pass(0)
  expect(questions).toHaveLength(5)
  expect(decisions.slice(5).map(reasonOf)).toEqual(Array.from({ length: 10 }, () => 'breaker_open'))

  await time.pass(175)
  for (let call = 0; call < 10; call += 1) ask()
  await time.pass(0)
  expect(questions).toHaveLength(6)
  questions.at(-1)?.(answered)
  await time.pass(0)
  expect(events.filter((event) => event.startsWith('breaker'))).toEqual(['breaker open', 'breaker closed'])
  for (let call = 0; call < 10; call += 1) ask()
  expect(questions).toHaveLength(16)
})

test('a question that the limiter rejects falls back and is told, and the limiter is asked on', async () => {
  const { time, questions, events, decisions, ask } = openClient()
  for (let call = 0; call < 40; call += 1) {
    ask()
    await time.pass(0)
    questions.at(-1)?.(rejected)
    await time.pass(0)
  }
  expect(questions).toHaveLength(40)
  expect(decisions.map(reasonOf)).toEqual(Array.from({ length: 40 }, () => 'rejected'))
  expect(events).toContain('rejected: NOT_FOUND: no domain api')
  expect(events).not.toContain('breaker open')
})

test.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 32])(
  'a cost of %d is not sent, where it would be another number: it counts as 1 here, and is told',
  async (cost) => {
    const { time, questions, events, decisions, ask } = openClient()
    ask(check(cost))
    await time.pass(0)
    expect(questions).toHaveLength(0)
    expect(decisions).toMatchObject([{ reason: 'rejected', decision: { verdict: 'allow', quota: { remaining: 49 } } }])
    expect(events[0]).toContain(`cost is ${cost}`)
  },
)

test('checks beyond the number that may wait are decided at once, until others have left', async () => {
  const { time, questions, decisions, ask } = openClient({ maxWaiting: 20 })
  for (let call = 0; call < 25; call += 1) ask()
  await time.pass(0)
  expect(questions).toHaveLength(20)
  expect(decisions.map(reasonOf)).toEqual(Array.from({ length: 5 }, () => 'overloaded'))
  for (const answer of questions) answer(answered)
  await time.pass(0)
  ask()
  expect(questions).toHaveLength(21)
})

test('in a flood by clients that are known, one that is not is still asked about, and so keeps its own numbers', async () => {
  const { time, questions, decisions, ask } = openClient({ maxWaiting: 20 })
  ask()
  await time.pass(0)
  questions[0]?.(answered)
  await time.pass(0)
  for (let call = 0; call < 25; call += 1) ask()
  await time.pass(0)
  expect(questions).toHaveLength(1 + 16)
  expect(decisions.slice(1).map(reasonOf)).toEqual(Array.from({ length: 9 }, () => 'overloaded'))

  ask(strangersCheck)
  expect(questions).toHaveLength(1 + 16 + 1)
  questions.at(-1)?.(answered)
  await time.pass(0)
  ask(strangersCheck)
  await time.pass(0)
  expect(questions).toHaveLength(1 + 16 + 1)
  expect(decisions.at(-1)).toMatchObject({
    reason: 'overloaded',
    decision: { verdict: 'allow', quota: { limit: 600 } },
  })
})

test('what the limiter reported of a client holds when it is gone', async () => {
  const { time, questions, decisions, ask } = openClient()
  ask()
  await time.pass(0)
  questions[0]?.(answered)
  for (let call = 0; call < 5; call += 1) {
    ask()
    await time.pass(0)
    questions.at(-1)?.(unavailable)
    await time.pass(0)
  }
  for (let call = 0; call < 700; call += 1) ask()
  await time.pass(0)
  const allowed = decisions.filter(({ source, decision }) => source === 'fallback' && decision.verdict === 'allow')
  // One of the 600 was charged by the limiter.
  expect(allowed).toHaveLength(599)
})

test.each(['allow', 'deny'] as const)('the fallback %s says that nobody counted', async (kind) => {
  const { time, decisions, ask } = openClient({ fallback: { kind } })
  ask()
  await time.pass(50)
  expect(decisions).toEqual([
    {
      source: 'fallback',
      reason: 'deadline_exceeded',
      decision: { verdict: kind, basis: 'store_unavailable', policy: 'fallback' },
    },
  ])
})

test('closing the client closes its transport', async () => {
  const { client, events } = openClient()
  await client[Symbol.asyncDispose]()
  expect(events).toEqual(['transport closed'])
})

test('whatever the transport does, each check is decided once, within the deadline, and leaves nothing behind', async () => {
  const anyCall = fc.record({
    afterMs: fc.nat({ max: 30 }),
    answerAfterMs: fc.option(fc.nat({ max: 120 })),
    asked: fc.constantFrom(answered, unavailable, rejected),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { maxLength: 30 }), async (calls) => {
      const { client, time, questions, events } = openClient({ maxWaiting: 30 })
      const elapsed: number[] = []
      for (const { afterMs, answerAfterMs, asked } of calls) {
        await time.pass(afterMs)
        const startMs = time.nowMs()
        const before = questions.length
        void client.shouldAllow(check()).then(() => elapsed.push(time.nowMs() - startMs))
        const question = questions[before]
        if (question !== undefined && answerAfterMs !== null) time.timers.after(answerAfterMs, () => question(asked))
      }
      await time.pass(200)
      expect(elapsed).toHaveLength(calls.length)
      expect(Math.max(0, ...elapsed)).toBeLessThanOrEqual(50)
      expect(events.filter((event) => /^(limiter|fallback) after/.test(event))).toHaveLength(calls.length)

      // All the room for waiting is there again.
      await time.pass(1_000)
      const probe = questions.length
      void client.shouldAllow(check())
      questions[probe]?.(answered)
      await time.pass(0)
      const asked = questions.length
      for (let call = 0; call < 31; call += 1) void client.shouldAllow(strangersCheck)
      expect(questions.length - asked).toBe(30)
    }),
    { numRuns: 60 },
  )
})
