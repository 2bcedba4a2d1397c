import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { type Check, domainName } from '../../contract/check.ts'
import { rateLimitService } from '../../wire/protocol.ts'
import type { Asked } from '../channel/question.ts'
import { allow, openScriptedLimiter } from '../scripted-limiter.fixture.ts'
import { until } from '../until.fixture.ts'
import { createStreamTransport } from './stream-transport.ts'
import type { Transport } from './transport.ts'

const check = (client = 'user:ada', cost = 1): Check => ({
  domain: domainName('api'),
  attributes: new Map([['client', client]]),
  cost,
})

const outcome = (asked: Asked) => (asked.ok ? 'answered' : asked.failure)
const untilAnswered = (transport: Transport, limitMs = 10_000) =>
  until(
    async () => outcome(await withinMs(300, transport.ask(check(), 50))),
    (seen) => seen === 'answered',
    limitMs,
  )

const withinMs = (ms: number, asked: Promise<Asked>): Promise<Asked> =>
  Promise.race([
    asked,
    delay(ms, { ok: false, failure: 'deadline_exceeded', detail: 'the test waited no longer' } as const),
  ])

describe('a limiter that answers', () => {
  test('is asked what the check says, over host and port', async () => {
    const seen: Check[] = []
    await using limiter = await openScriptedLimiter((one) => {
      seen.push(one)
      return allow
    })
    await using transport = createStreamTransport({ address: limiter.address })
    expect(await transport.ask(check('user:ada', 0), 40_000)).toEqual({
      ok: true,
      answer: { decision: allow, shadows: [] },
    })
    expect(seen).toEqual([check('user:ada', 0)])
  })

  test('is found by name', async () => {
    await using limiter = await openScriptedLimiter(() => allow)
    await using transport = createStreamTransport({ address: `dns:///localhost:${limiter.port}` })
    expect(outcome(await transport.ask(check(), 40_000))).toBe('answered')
  })

  test('is found by the path of its socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-client-'))
    try {
      await using limiter = await openScriptedLimiter(() => allow, { target: `unix:${folder}/limiter.sock` })
      await using transport = createStreamTransport({ address: limiter.address })
      expect(outcome(await transport.ask(check(), 40_000))).toBe('answered')
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('an answer that is none', () => {
  test.each([
    [
      'rejected',
      'a fault found in the question',
      { code: status.INVALID_ARGUMENT, details: 'attributes.client: missing' },
    ],
    ['rejected', 'an unknown domain', { code: status.NOT_FOUND, details: 'no domain api' }],
    ['unavailable', 'too much to do', { code: status.RESOURCE_EXHAUSTED, details: 'too many calls' }],
    ['unavailable', 'a bug', { code: status.INTERNAL, details: 'a bug' }],
    ['unavailable', 'a limiter that goes away', { code: status.UNAVAILABLE, details: 'draining' }],
    ['deadline_exceeded', 'a limiter that was too slow', { code: status.DEADLINE_EXCEEDED, details: 'too slow' }],
  ] as const)('is %s for %s, and the stream goes on', async (failure, _, reply) => {
    await using limiter = await openScriptedLimiter(() => reply)
    await using transport = createStreamTransport({ address: limiter.address })
    const asked = await transport.ask(check(), 1_000)
    expect(asked).toMatchObject({ ok: false, failure, detail: `${status[reply.code]}: ${reply.details}` })
    limiter.state.script = () => allow
    expect(outcome(await transport.ask(check(), 1_000))).toBe('answered')
    expect(limiter.state.streams).toBe(1)
  })

  test('of a later version is one check that is unavailable, and the stream goes on', async () => {
    const { responseSerialize } = rateLimitService.ShouldAllowStream
    const later = { verdict: 99 as never, basis: 99 as never }
    await using limiter = await openScriptedLimiter(() =>
      responseSerialize({ decisions: [{ id: 0, decision: later }] }),
    )
    await using transport = createStreamTransport({ address: limiter.address })
    expect(outcome(await transport.ask(check(), 1_000))).toBe('unavailable')
    limiter.state.script = () => allow
    expect(outcome(await transport.ask(check(), 1_000))).toBe('answered')
    expect(limiter.state.streams).toBe(1)
  })

  test.each([
    ['garbage', Buffer.from('this is no message')],
    ['nothing', Buffer.alloc(0)],
    ['a frame that is too large', Buffer.alloc(2_000_000)],
  ])('but %s is unavailable, and the next stream is used', async (_, reply) => {
    await using limiter = await openScriptedLimiter(() => reply)
    await using transport = createStreamTransport({ address: limiter.address })
    expect(outcome(await transport.ask(check(), 1_000))).toBe('unavailable')
    limiter.state.script = () => allow
    await untilAnswered(transport)
  })

  test('a check too large to be sent is our own fault, and is not sent', async () => {
    await using limiter = await openScriptedLimiter(() => allow)
    await using transport = createStreamTransport({ address: limiter.address })
    expect(await transport.ask(check('x'.repeat(70_000)), 40_000)).toMatchObject({ ok: false, failure: 'rejected' })
    expect(limiter.state.asked).toBe(0)
  })
})

describe('checks that are asked together', () => {
  const askMany = (transport: Transport, count: number, deadlineMs = 5_000) =>
    Promise.all(Array.from({ length: count }, (_, index) => transport.ask(check(`user:${index}`), deadlineMs)))

  test('travel in one frame; one alone does not wait for others', async () => {
    await using limiter = await openScriptedLimiter(() => allow)
    await using transport = createStreamTransport({ address: limiter.address })
    await untilAnswered(transport)
    limiter.state.frames.length = 0
    await askMany(transport, 100)
    await askMany(transport, 1)
    // Of requests that came by different connections in one turn of the event loop.
    setImmediate(() => {})
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        await Promise.resolve()
        return askMany(transport, 1)
      }),
    )
    expect(limiter.state.frames).toEqual([100, 1, 20])
  })

  test('travel in frames of at most 1,000 and 1 MiB', async () => {
    await using limiter = await openScriptedLimiter(() => allow)
    await using transport = createStreamTransport({ address: limiter.address })
    await untilAnswered(transport)
    limiter.state.frames.length = 0
    const asked = await askMany(transport, 2_500)
    expect(asked.filter(({ ok }) => ok)).toHaveLength(2_500)
    expect(limiter.state.frames).toEqual([1_000, 1_000, 500])
    limiter.state.frames.length = 0
    const large = Array.from({ length: 30 }, () => ['a', 'b'].map((name) => [name, 'x'.repeat(30_000)] as const))
    await Promise.all(large.map((attributes) => transport.ask({ ...check(), attributes: new Map(attributes) }, 40_000)))
    expect(limiter.state.frames.length).toBeGreaterThan(1)
  })

  test('are overloaded beyond what one limiter may hold, and only those', async () => {
    await using limiter = await openScriptedLimiter(() => 'silence')
    await using transport = createStreamTransport({ address: limiter.address })
    await until(
      () => transport.count().ready,
      (ready) => ready === 1,
    )
    const asked = Array.from({ length: 4_010 }, () => transport.ask(check(), 50))
    const refused = await Promise.all(asked.slice(4_000))
    expect(new Set(refused.map(outcome))).toEqual(new Set(['overloaded']))
    limiter.state.script = () => allow
    expect(outcome(await withinMs(100, asked[0] ?? Promise.reject(new Error('none'))))).not.toBe('overloaded')
  })
})

describe('a limiter that is not there', () => {
  test('is unavailable at once, for as long as it is away', async () => {
    const { address } = await nobodyListens()
    await using transport = createStreamTransport({ address })
    for (let call = 0; call < 20; call += 1) expect(outcome(await transport.ask(check(), 50))).toBe('unavailable')
  })

  test('is looked for again within little more than a second, however long it has been away', async () => {
    const attemptsMs: number[] = []
    await using host = await openHost((socket) => {
      attemptsMs.push(performance.now())
      socket.destroy()
    })
    await using transport = createStreamTransport({ address: host.address })
    await transport.ask(check(), 50)
    await delay(7_000)
    const gapsMs = attemptsMs.map((atMs, index) => atMs - (attemptsMs[index - 1] ?? atMs))
    expect(Math.max(...gapsMs)).toBeLessThan(1_600)
    // Nor is it besieged.
    expect(attemptsMs.length).toBeLessThan(20)
  })

  test('breaks the calls under way when it dies, and is used again when it is back', async () => {
    await using first = await openScriptedLimiter(() => 'silence')
    await using transport = createStreamTransport({ address: first.address })
    const asked = Promise.all(Array.from({ length: 100 }, () => transport.ask(check(), 40_000)))
    await until(
      () => first.state.asked,
      (count) => count === 100,
    )
    first.die()
    expect(new Set((await asked).map(outcome))).toEqual(new Set(['unavailable']))
    await using _second = await openScriptedLimiter(() => allow, { target: first.address })
    await untilAnswered(transport, 2_000)
  })

  test('is left without a failed check when it drains and another takes its place', async () => {
    await using first = await openScriptedLimiter(async () => {
      await delay(20)
      return allow
    })
    await using transport = createStreamTransport({ address: first.address })
    const asked = Array.from({ length: 50 }, () => transport.ask(check(), 40_000))
    await until(
      () => first.state.asked,
      (count) => count === 50,
    )
    await first.drain()
    await using _second = await openScriptedLimiter(() => allow, { target: first.address })
    expect(new Set((await Promise.all(asked)).map(outcome))).toEqual(new Set(['answered']))
    await untilAnswered(transport, 2_000)
  })
})

describe('a host that accepts connections and speaks no gRPC', () => {
  test('resets are failures, not exceptions', async () => {
    await using host = await openHost((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await using transport = createStreamTransport({ address: host.address })
    for (let call = 0; call < 5; call += 1)
      expect(outcome(await withinMs(5_000, transport.ask(check(), 50)))).toBe('unavailable')
  })

  test('garbage is a failure, not an exception', async () => {
    await using host = await openHost((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await using transport = createStreamTransport({ address: host.address })
    for (let call = 0; call < 5; call += 1)
      expect(outcome(await withinMs(5_000, transport.ask(check(), 50)))).toBe('unavailable')
  })

  test('a silent one is given up for a new connection, though it never lets go of the old one', async () => {
    await using host = await openHost(() => {})
    await using transport = createStreamTransport({ address: host.address })
    const first = transport.ask(check(), 50)
    await until(
      () => host.sockets.size,
      (count) => count > 0,
    )
    await host.stopListening()
    await using _limiter = await openScriptedLimiter(() => allow, { target: host.address })
    await untilAnswered(transport, 2_500)
    expect(outcome(await first)).toBe('unavailable')
    expect(host.sockets.size).toBe(1)
  })
})

describe('a storm of checks that nobody waits for any more', () => {
  test('thousands of them disturb no other check, on one connection that is never reset', async () => {
    await using limiter = await openScriptedLimiter(async ({ attributes }) => {
      if (attributes.get('client') === 'user:lost') return 'silence'
      await delay(5)
      return allow
    })
    await using transport = createStreamTransport({ address: limiter.address })
    await untilAnswered(transport)
    const seen = new Map<string, number>()
    for (let wave = 0; wave < 8; wave += 1) {
      for (let call = 0; call < 400; call += 1) void transport.ask(check('user:lost'), 1_000)
      const others = await Promise.all(Array.from({ length: 100 }, () => transport.ask(check(), 40_000)))
      for (const other of others) seen.set(outcome(other), (seen.get(outcome(other)) ?? 0) + 1)
      await delay(60)
    }
    expect(Object.fromEntries(seen)).toEqual({ answered: 800 })
    expect(limiter.state.asked).toBeGreaterThan(3_900)
    expect(limiter.state.peers.size).toBe(1)
    expect(limiter.state.cancelled).toBe(0)
  })

  test('a burst of checks that are waited for is answered in full, beside hundreds that hang', async () => {
    let reply: 'silence' | typeof allow = 'silence'
    await using limiter = await openScriptedLimiter(() => reply)
    await using transport = createStreamTransport({ address: limiter.address })
    for (let call = 0; call < 700; call += 1) void transport.ask(check(), 40_000)
    await until(
      () => limiter.state.asked,
      (count) => count === 700,
    )
    await delay(60)
    reply = allow
    const burst = await Promise.all(Array.from({ length: 500 }, () => transport.ask(check(), 40_000)))
    expect(burst.filter(({ ok }) => ok)).toHaveLength(500)
  })
})

test('a closed transport answers that it is, ends its calls, and holds nothing open', async () => {
  await using limiter = await openScriptedLimiter(() => 'silence')
  const transport = createStreamTransport({ address: limiter.address })
  const asked = transport.ask(check(), 50)
  await until(
    () => limiter.state.asked,
    (count) => count === 1,
  )
  await transport[Symbol.asyncDispose]()
  expect(outcome(await withinMs(2_000, asked))).toBe('unavailable')
  expect(outcome(await transport.ask(check(), 50))).toBe('unavailable')
  await limiter.drain()
})

const nobodyListens = async () => {
  const host = await openHost(() => {})
  await host[Symbol.asyncDispose]()
  return host
}

const openHost = async (serve: (socket: Socket) => void) => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const stopListening = () =>
    new Promise<void>((resolve) => {
      server.close()
      resolve()
    })
  return {
    port,
    address: `127.0.0.1:${port}`,
    sockets,
    /** Connections stay. */
    stopListening,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await stopListening()
    },
  }
}
