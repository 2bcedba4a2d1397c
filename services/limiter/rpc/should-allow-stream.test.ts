import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { MAX_FRAME_BYTES, rateLimitService } from '../../wire/protocol.ts'
import type { BucketStore, Take, TakeOutcome } from '../core/store.ts'
import { openServer } from './server.fixture.ts'
import { openSlowReader } from './slow-reader.fixture.ts'
import { check, openStreamClient } from './stream-client.fixture.ts'

type Options = Parameters<typeof openServer>[0]

const ways = [
  {
    way: 'TCP',
    open: async (options: Options = {}) => {
      const opened = await openServer(options)
      return { ...opened, target: `127.0.0.1:${opened.port}` }
    },
  },
  {
    way: 'a Unix socket',
    open: async (options: Options = {}) => {
      const target = `unix:${join(tmpdir(), `weir-${randomUUID()}.sock`)}`
      return { ...(await openServer({ ...options, target })), target }
    },
  },
] as const

const UNAVAILABLE: TakeOutcome = { kind: 'unavailable', settle: async () => [] }

/** A store that answers when the test says so, or never; what it does not answer is counted locally. */
const heldStore = () => {
  const held: { readonly take: Take; readonly release: () => void }[] = []
  let changed = Promise.withResolvers<void>()
  const store: BucketStore = {
    take: (take) => {
      const { promise, resolve } = Promise.withResolvers<TakeOutcome>()
      held.push({ take, release: () => resolve(UNAVAILABLE) })
      changed.resolve()
      changed = Promise.withResolvers()
      return promise
    },
    reset: async () => ({ kind: 'reset' }),
  }
  return {
    store,
    held,
    until: async (count: number) => {
      while (held.length < count) await changed.promise
    },
  }
}

/** Counts the takes, and says at once that it is away. */
const countingStore = () => {
  let takes = 0
  const store: BucketStore = {
    take: async () => {
      takes += 1
      return UNAVAILABLE
    },
    reset: async () => ({ kind: 'reset' }),
  }
  return { store, takes: () => takes }
}

const times = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

const HELD_MS = 500

const frameOf = (firstId: number, count: number) =>
  rateLimitService.ShouldAllowStream.requestSerialize({ firstId, checks: times(count, () => check('a')) })

const manyFrames = times(40, (index) => frameOf(index * 1_000, 1_000))

describe.each(ways)('ShouldAllowStream over $way', ({ open }) => {
  test('answers every check of a frame by its id, with what ShouldAllow would answer', async () => {
    await using opened = await open()
    using stream = openStreamClient(opened.target)
    await stream.send(7, [check('a', 9), check('a', 2), check('a', 0), { domain: 'api', attributes: { client: 'b' } }])
    await stream.until(() => stream.decisions.length === 4)
    const policy = 'per-client'
    expect(Object.fromEntries(stream.decisions.map((one) => [one.id, one.ok && one.answer.decision]))).toMatchObject({
      7: { verdict: 'allow', basis: 'bucket', policy, quota: { limit: 10, remaining: 1 } },
      8: { verdict: 'deny', basis: 'bucket', policy, retryAfterMs: 60_000, quota: { limit: 10, remaining: 1 } },
      9: { verdict: 'allow', quota: { remaining: 1 } },
      10: { verdict: 'allow', quota: { remaining: 9 } },
    })
  })

  test('decisions of one moment leave in one frame', async () => {
    await using opened = await open()
    using stream = openStreamClient(opened.target)
    await stream.send(
      0,
      times(1_000, (index) => check(String(index))),
    )
    await stream.until(() => stream.decisions.length === 1_000)
    expect(stream.frames).toHaveLength(1)
  })

  test('a decision does not wait for a slower one, nor for its frame', async () => {
    const { store, held, until } = heldStore()
    await using opened = await open({ store })
    using stream = openStreamClient(opened.target)
    await stream.send(0, [check('slow'), check('fast')])
    await stream.send(2, [check('faster')])
    await until(3)
    held[2]?.release()
    await stream.until(() => stream.decisions.length === 1)
    held[1]?.release()
    await stream.until(() => stream.decisions.length === 2)
    held[0]?.release()
    await stream.until(() => stream.decisions.length === 3)
    expect(stream.decisions.map(({ id }) => id)).toEqual([2, 1, 0])
  })

  test('what is wrong with one check is its own error; the others are answered and the stream lives on', async () => {
    await using opened = await open()
    using stream = openStreamClient(opened.target)
    await stream.send(0, [
      { domain: '', attributes: { client: 'a' } },
      { domain: 'shop', attributes: { client: 'a' } },
      { domain: 'api', attributes: { plan: 'free' } },
      { domain: 'api', attributes: { client: 'x'.repeat(70_000) } },
      check('a'),
    ])
    await stream.until(() => stream.decisions.length === 5)
    expect(stream.decisions.toSorted((a, b) => a.id - b.id)).toMatchObject([
      { id: 0, ok: false, code: status.INVALID_ARGUMENT, message: expect.stringContaining('domain') },
      { id: 1, ok: false, code: status.NOT_FOUND, message: expect.stringContaining('known: api') },
      { id: 2, ok: false, code: status.INVALID_ARGUMENT, message: expect.stringContaining('attributes.client') },
      { id: 3, ok: false, code: status.INVALID_ARGUMENT, message: expect.stringContaining('attributes.client') },
      { id: 4, ok: true },
    ])
    await stream.send(5, [check('a')])
    await stream.until(() => stream.decisions.length === 6)
  })

  test('a bug that one check meets is its own error, and is told', async () => {
    const bugs: unknown[] = []
    const { store } = countingStore()
    const take: BucketStore['take'] = async (asked) => {
      if (asked.cost === 7) throw new Error('planted')
      return store.take(asked)
    }
    await using opened = await open({ store: { ...store, take }, onBug: (error) => bugs.push(error) })
    using stream = openStreamClient(opened.target)
    await stream.send(0, [check('a', 7), check('a', 1)])
    await stream.until(() => stream.decisions.length === 2)
    expect(stream.decisions.toSorted((a, b) => a.id - b.id)).toMatchObject([
      { id: 0, ok: false, code: status.INTERNAL },
      { id: 1, ok: true },
    ])
    expect(bugs).toHaveLength(1)
  })

  test('an empty frame asks nothing, repeated ids are answered each, ids count on beyond the last', async () => {
    await using opened = await open()
    using stream = openStreamClient(opened.target)
    await stream.sendBytes(Buffer.alloc(0))
    await stream.send(5, [check('a')])
    await stream.send(5, [check('a')])
    await stream.send(2 ** 32 - 1, [check('a'), check('a')])
    await stream.until(() => stream.decisions.length === 4)
    expect(stream.decisions.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([0, 5, 5, 2 ** 32 - 1])
  })

  test.each([
    ['bytes that are no message', Buffer.from([0xff, 0xff, 0xff]), status.INVALID_ARGUMENT, 'CheckFrame'],
    ['random text', Buffer.from('GET / HTTP/1.1\r\n\r\n'), status.INVALID_ARGUMENT, 'CheckFrame'],
    ['more than 1,000 checks', frameOf(0, 1_001), status.INVALID_ARGUMENT, '1000 checks'],
    ['500,000 empty checks', Buffer.alloc(1_000_000, Buffer.from([0x12, 0])), status.INVALID_ARGUMENT, '1000 checks'],
    ['more than 1 MiB', Buffer.alloc(MAX_FRAME_BYTES + 1), status.RESOURCE_EXHAUSTED, 'larger than max'],
  ])('%s end the stream, after the answers to what came before, and no other', async (_, bytes, code, details) => {
    await using opened = await open()
    using other = openStreamClient(opened.target)
    using stream = openStreamClient(opened.target)
    await stream.send(0, [check('a')])
    await stream.until(() => stream.decisions.length === 1)
    void stream.sendBytes(bytes)
    expect(await stream.ended).toMatchObject({ code, details: expect.stringContaining(details) })
    await other.send(0, [check('a')])
    await other.until(() => other.decisions.length === 1)
  })

  test('a caller who half-closes gets every answer, then OK', async () => {
    const { store, held, until } = heldStore()
    await using opened = await open({ store })
    using stream = openStreamClient(opened.target)
    await stream.send(0, [check('a'), check('b')])
    stream.halfClose()
    await until(2)
    for (const { release } of held) release()
    expect(await stream.ended).toMatchObject({ code: status.OK })
    expect(stream.decisions).toHaveLength(2)
  })

  test('a caller who does not read is not read from; once it reads, everything is answered', async () => {
    const { store, takes } = countingStore()
    await using opened = await open({ store })
    using reader = openSlowReader(opened.target, manyFrames)
    let seen = -1
    while (seen !== takes() || seen === 0) {
      seen = takes()
      await setTimeout(HELD_MS)
    }
    // Those that may be unanswered, and as many as go into HTTP/2's window.
    expect(seen).toBeLessThan(10_000)
    const decisions = await reader.readAll()
    expect(new Set(decisions.map(({ id }) => id)).size).toBe(40_000)
  }, 60_000)

  test('a stream whose checks are not decided yet is read no further', async () => {
    const { store, held, until } = heldStore()
    await using opened = await open({ store })
    using stream = openStreamClient(opened.target)
    for (const index of times(10, (at) => at))
      void stream.send(
        index * 1_000,
        times(1_000, () => check('a')),
      )
    await until(2_000)
    await setTimeout(HELD_MS)
    expect(held).toHaveLength(2_000)
    for (let next = 0; next < 10_000; next += 1) {
      await until(next + 1)
      held[next]?.release()
    }
    await stream.until(() => stream.decisions.length === 10_000)
  }, 60_000)

  test('beyond 10,000 checks under way in all, a further one is refused at once; a caller that goes away makes room', async () => {
    const { store, held, until } = heldStore()
    await using opened = await open({ store })
    const streams = times(5, () => openStreamClient(opened.target))
    for (const stream of streams)
      void stream.send(
        0,
        times(1_000, () => check('a')),
      )
    for (const stream of streams)
      void stream.send(
        1_000,
        times(1_000, () => check('a')),
      )
    await until(10_000)
    using late = openStreamClient(opened.target)
    await late.send(0, [check('a')])
    await late.until(() => late.decisions.length === 1)
    expect(late.decisions[0]).toMatchObject({ ok: false, code: status.RESOURCE_EXHAUSTED })
    for (const stream of streams) stream[Symbol.dispose]()
    for (const { release } of held.splice(0)) release()
    await late.send(1, [check('a')])
    await until(1)
    held[0]?.release()
    await late.until(() => late.decisions.length === 2)
    expect(late.decisions[1]).toMatchObject({ id: 1, ok: true })
  }, 60_000)

  test('draining tells every caller, answers what was asked and what still comes, then ends', async () => {
    const { store, held, until } = heldStore()
    const opened = await open({ store })
    using stream = openStreamClient(opened.target)
    using idle = openStreamClient(opened.target)
    await stream.send(0, [check('a')])
    await until(1)
    const drained = opened.server[Symbol.asyncDispose]()
    await stream.until(() => stream.frames.length === 1)
    await idle.until(() => idle.frames.length === 1)
    expect([...stream.frames, ...idle.frames]).toEqual([
      { decisions: [], draining: true },
      { decisions: [], draining: true },
    ])
    // Sent before the caller knew.
    await stream.send(1, [check('b')])
    await until(2)
    stream.halfClose()
    for (const { release } of held) release()
    expect(await stream.ended).toMatchObject({ code: status.OK })
    expect(stream.decisions.map(({ id }) => id)).toEqual([0, 1])
    // Never half-closed.
    expect(await idle.ended).toMatchObject({ code: status.OK })
    await drained
  })

  test('a caller who neither reads nor half-closes does not hold up the drain', async () => {
    const { store, takes } = countingStore()
    const opened = await open({ store })
    using _ = openSlowReader(opened.target, manyFrames)
    while (takes() < 2_000) await setTimeout(10)
    await opened.server[Symbol.asyncDispose]()
  }, 30_000)
})
