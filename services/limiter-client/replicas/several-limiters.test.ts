import { describe, expect, test } from 'vitest'
import { type Check, domainName } from '../../contract/check.ts'
import type { Asked } from '../channel/question.ts'
import { allow, openScriptedLimiter, type Script } from '../scripted-limiter.fixture.ts'
import { until } from '../until.fixture.ts'
import { createStreamTransport } from './stream-transport.ts'

const checkOf = (client: string): Check => ({
  domain: domainName('api'),
  attributes: new Map([['client', client]]),
  cost: 1,
})

type Limiter = Awaited<ReturnType<typeof openScriptedLimiter>>

/** Limiters at 127.0.0.1, 127.0.0.2, … on one port, behind a name that stands for those that the test says. */
const openLimiters = async (count: number, script: Script = () => allow, named = count) => {
  const limiters: Limiter[] = []
  for (let host = 1; host <= count; host += 1)
    limiters.push(await openScriptedLimiter(script, { target: `127.0.0.${host}:${limiters[0]?.port ?? 0}` }))
  const events: string[] = []
  let askedAgain = 0
  let known = limiters.map((_, index) => index).slice(0, named)
  const transport = createStreamTransport({
    address: `dns:///limiter.weir:${limiters[0]?.port}`,
    names: { resolve: async () => known.map((index) => `127.0.0.${index + 1}`) },
    observe: {
      connected: (address) => events.push(`connected ${address}`),
      lost: (address) => events.push(`lost ${address}`),
      askedAgain: () => {
        askedAgain += 1
      },
    },
  })
  const ask = (client: string, deadlineMs = 40_000): Promise<Asked> => transport.ask(checkOf(client), deadlineMs)
  return {
    limiters,
    transport,
    events,
    ask,
    askMany: (count: number, deadlineMs?: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => ask(`user:${index}`, deadlineMs))),
    askedAgain: () => askedAgain,
    standFor: (...indexes: readonly number[]) => {
      known = [...indexes]
    },
    untilReady: (ready: number) =>
      until(
        () => transport.count(),
        (count) => count.ready === ready && count.connecting === 0,
      ),
    asked: () => limiters.map(({ state }) => state.asked),
    [Symbol.asyncDispose]: async () => {
      await transport[Symbol.asyncDispose]()
      for (const limiter of limiters) await limiter[Symbol.asyncDispose]()
    },
  }
}

const failed = (asked: readonly Asked[]) => asked.filter(({ ok }) => !ok)

test('each limiter has one stream, and each client keeps to one limiter', async () => {
  await using set = await openLimiters(3)
  await set.untilReady(3)
  for (let round = 0; round < 5; round += 1) expect(failed(await set.askMany(300))).toEqual([])
  const seen = set.asked()
  for (const count of seen) expect(count).toBeGreaterThan(300)
  expect(set.limiters.map(({ state }) => state.streams)).toEqual([1, 1, 1])
  const before = set.asked()
  for (let time = 0; time < 5; time += 1) await set.ask('user:7')
  expect(set.asked().filter((count, index) => count !== before[index])).toHaveLength(1)
})

test('a limiter that joins is asked, and one that has left is not, without a failed check', async () => {
  await using set = await openLimiters(3, () => allow, 2)
  await set.untilReady(2)
  set.standFor(0, 1, 2)
  const outcomes: Asked[] = []
  const askAll = async () => {
    outcomes.push(...(await set.askMany(50)))
    return set.asked()
  }
  await until(askAll, ([, , third = 0]) => third > 10)
  set.standFor(1, 2)
  await until(
    () => set.transport.count().ready,
    (ready) => ready === 2,
  )
  await askAll()
  const [before] = set.asked()
  for (let round = 0; round < 5; round += 1) await askAll()
  expect(set.asked()[0]).toBe(before)
  expect(failed(outcomes)).toEqual([])
})

test('a limiter that drains is left without a failed check, and everything it was asked is answered', async () => {
  await using set = await openLimiters(2, async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return allow
  })
  await set.untilReady(2)
  const first = set.askMany(200)
  await until(set.asked, ([one = 0, two = 0]) => one + two === 200)
  const drained = set.limiters[0]?.drain()
  const outcomes = await Promise.all([first, set.askMany(200), set.askMany(200)])
  await drained
  expect(failed(outcomes.flat())).toEqual([])
  expect(failed(await set.askMany(200))).toEqual([])
})

test('a limiter that closes old connections is asked on a new one, without a failed check', async () => {
  await using limiter = await openScriptedLimiter(() => allow, { maxAgeMs: 300 })
  await using transport = createStreamTransport({ address: limiter.address })
  const outcomes: Asked[] = []
  await until(
    async () => {
      outcomes.push(...(await Promise.all(Array.from({ length: 10 }, () => transport.ask(checkOf('a'), 40_000)))))
      return limiter.state.peers.size
    },
    (connections) => connections >= 4,
  )
  expect(failed(outcomes)).toEqual([])
})

describe('a limiter that dies', () => {
  test('with checks unanswered: each is asked once more at another one, and that is told', async () => {
    await using set = await openLimiters(2, () => 'silence')
    await set.untilReady(2)
    const asked = set.askMany(200)
    await until(set.asked, ([one = 0, two = 0]) => one + two === 200)
    const [lost = 0] = set.asked()
    const survivor = set.limiters[1]
    if (survivor === undefined) throw new Error('there are two')
    const seen: string[] = []
    survivor.state.script = ({ attributes, requestId }) => {
      seen.push(`${attributes.get('client')} ${requestId}`)
      return allow
    }
    set.limiters[0]?.die()
    await until(
      () => seen.length,
      (count) => count === lost,
    )
    expect(set.askedAgain()).toBe(lost)
    expect(new Set(seen).size).toBe(lost)
    expect(seen.every((one) => one.endsWith(' undefined'))).toBe(true)
    survivor.die()
    const outcomes = await asked
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(lost)
  })

  test('after the deadline of its checks: none is asked again', async () => {
    await using set = await openLimiters(2, () => 'silence')
    await set.untilReady(2)
    const asked = set.askMany(100, 500)
    await until(set.asked, ([one = 0, two = 0]) => one + two > 20)
    await new Promise((resolve) => setTimeout(resolve, 510))
    for (const limiter of set.limiters) limiter.die()
    expect(failed(await asked)).toHaveLength(100)
    expect(set.askedAgain()).toBe(0)
  })

  test('and all others too: every check fails at once, until one is back', async () => {
    await using set = await openLimiters(3)
    await set.untilReady(3)
    for (const limiter of set.limiters) limiter.die()
    await until(
      async () => failed(await set.askMany(20)).length,
      (count) => count === 20,
    )
    await using _back = await openScriptedLimiter(() => allow, { target: `127.0.0.2:${set.limiters[1]?.port}` })
    await until(
      async () => failed(await set.askMany(20)).length,
      (count) => count === 0,
    )
  })
})

test('a limiter that says nothing any more is not asked while another one answers', async () => {
  await using set = await openLimiters(2)
  await set.untilReady(2)
  const silent = set.limiters[0]
  if (silent === undefined) throw new Error('there are two')
  silent.state.script = () => 'silence'
  void set.askMany(100)
  await until(
    () => set.transport.count(),
    ({ ready }) => ready === 1,
  )
  const before = silent.state.asked
  expect(failed(await set.askMany(200))).toEqual([])
  expect(silent.state.asked).toBe(before)
})
