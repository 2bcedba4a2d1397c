import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { protoPath } from 'grpc-health-check'
import { describe, expect, test } from 'vitest'
import { loadProtocol, rateLimitService } from '../../wire/protocol.ts'
import type { BucketStore, TakeOutcome } from '../core/store.ts'
import { openClient, openServer } from './server.fixture.ts'

const ask = (client: string, cost?: number) => ({
  domain: 'api',
  attributes: { client },
  ...(cost !== undefined && { cost }),
})

describe('ShouldAllow', () => {
  test('an absent cost charges 1, an explicit 0 charges nothing', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    const remaining = []
    for (const cost of [undefined, 0, 0, 3, undefined, 0]) {
      const reply = await client.shouldAllow(ask('a', cost))
      remaining.push(reply.ok && reply.response.quota?.remaining)
    }
    expect(remaining).toEqual([9, 9, 9, 6, 5, 5])
  })

  test('a refusal is an answer: status OK, the verdict DENY, the wait and the quota beside it', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    await client.shouldAllow(ask('a', 10))
    expect(await client.shouldAllow(ask('a'))).toEqual({
      ok: true,
      response: {
        verdict: 'DENY',
        basis: 'BUCKET',
        policy: 'per-client',

        quota: { limit: 10, remaining: 0, resetAfterMs: 600_000, refillTokens: 1, refillPeriodMs: 60_000 },
        retryAfterMs: 60_000,
        shadow: [],
      },
    })
  })

  test.each([
    ['no domain', { attributes: { client: 'a' } }, status.INVALID_ARGUMENT, 'domain'],
    ['an unknown domain', { domain: 'shop', attributes: { client: 'a' } }, status.NOT_FOUND, 'known: api'],
    ['no subject', { domain: 'api', attributes: { plan: 'free' } }, status.INVALID_ARGUMENT, 'attributes.client'],
    ['an empty subject', { domain: 'api', attributes: { client: '' } }, status.INVALID_ARGUMENT, 'attributes.client'],
    [
      'a long value',
      { domain: 'api', attributes: { client: 'é'.repeat(513) } },
      status.INVALID_ARGUMENT,
      'attributes.client',
    ],
    ['a long name', { domain: 'api', attributes: { ['x'.repeat(1025)]: '' } }, status.INVALID_ARGUMENT, 'attributes'],
    ['an empty name', { domain: 'api', attributes: { client: 'a', '': 'x' } }, status.INVALID_ARGUMENT, 'attributes'],
    ['broken text', { domain: 'api', attributes: { client: '\uFFFD' } }, status.INVALID_ARGUMENT, 'UTF-8'],
    [
      '33 attributes',
      { domain: 'api', attributes: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, 'x'])) },
      status.INVALID_ARGUMENT,
      '32',
    ],
    ['70 KiB', { domain: 'api', attributes: { client: 'a'.repeat(70_000) } }, status.RESOURCE_EXHAUSTED, ''],
  ])('%s is an error that says what is wrong', async (_, request, code, details) => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    const reply = await client.shouldAllow(request)
    expect(reply).toMatchObject({ ok: false, error: { code, details: expect.stringContaining(details) } })
  })

  test('names of an object’s own members are ordinary attribute names', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    for (const name of ['constructor', 'toString', 'hasOwnProperty'])
      expect(await client.shouldAllow({ domain: 'api', attributes: { client: 'a', [name]: 'x' } })).toMatchObject({
        ok: true,
      })
    // A map entry whose key is __proto__, as only raw bytes can carry it.
    const entry = Buffer.concat([
      Buffer.from([0x0a, 9]),
      Buffer.from('__proto__'),
      Buffer.from([0x12, 1]),
      Buffer.from('x'),
    ])
    const bytes = Buffer.concat([Buffer.from([0x0a, 3]), Buffer.from('api'), Buffer.from([0x12, entry.length]), entry])
    expect(await client.sendBytes(bytes)).toMatchObject({ ok: false, error: { code: status.INVALID_ARGUMENT } })
  })

  test('whatever bytes arrive, the answer is one of the documented ones and the server goes on', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    const valid = rateLimitService.ShouldAllow.requestSerialize(ask('a', 1))
    const mutated = fc
      .tuple(
        fc.integer({ min: 0, max: valid.length - 1 }),
        fc.integer({ min: 0, max: 255 }),
        fc.uint8Array({ maxLength: 8 }),
      )
      .map(([at, byte, tail]) => {
        const bytes = Buffer.concat([valid, tail])
        bytes[at] = byte
        return bytes
      })
    const huge = fc.constant(Buffer.concat(Array.from({ length: 3_000 }, (_, index) => mapEntry(`k${index}`))))
    const random = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes))
    const codes = new Set<number>()
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 10, arbitrary: mutated }, { weight: 10, arbitrary: random }, { weight: 1, arbitrary: huge }),
        async (bytes) => {
          const reply = await client.sendBytes(bytes)
          const code = reply.ok ? status.OK : reply.error.code
          codes.add(code)
          expect([status.OK, status.INVALID_ARGUMENT, status.NOT_FOUND, status.RESOURCE_EXHAUSTED]).toContain(code)
        },
      ),
      { numRuns: 5_000 },
    )
    expect(codes).toContain(status.INVALID_ARGUMENT)
    expect(await client.shouldAllow(ask('still here'))).toMatchObject({ ok: true })
  }, 60_000)
})

const mapEntry = (key: string) =>
  Buffer.concat([Buffer.from([0x12, key.length + 2, 0x0a, key.length]), Buffer.from(key)])

describe('a bug', () => {
  test('that one request meets fails that call and no other, and is told', async () => {
    const bugs: unknown[] = []
    const store: BucketStore = {
      take: async ({ cost }) => {
        if (cost === 7) throw new Error('on purpose')
        return { kind: 'unavailable', settle: async () => [] }
      },
      reset: async () => ({ kind: 'reset' }),
    }
    await using opened = await openServer({ store, onBug: (error) => bugs.push(error) })
    using client = openClient(`127.0.0.1:${opened.port}`)
    expect(await client.shouldAllow(ask('a', 7))).toMatchObject({ ok: false, error: { code: status.INTERNAL } })
    expect(await client.shouldAllow(ask('a'))).toMatchObject({ ok: true })
    expect(bugs).toEqual([new Error('on purpose')])
  })
})

describe('the server', () => {
  const healthProtocol = loadProtocol([protoPath], [])
  const Check = (healthProtocol['grpc.health.v1.Health'] as unknown as { Check: typeof rateLimitService.ShouldAllow })
    .Check
  const health = async (client: ReturnType<typeof openClient>, service: string) => {
    const reply = await client.call(Check as never, { service } as never)
    return reply.ok ? (reply.response as { status?: string }).status : reply.error.code
  }

  test('answers grpc.health.v1 for the whole and for each component', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    expect(await health(client, '')).toBe('SERVING')
    expect(await health(client, 'weir.v1.RateLimit')).toBe('SERVING')
    expect(await health(client, 'weir.v1.Admin')).toBe(status.NOT_FOUND)
  })

  test.each([
    [undefined, false],
    [{ readToken: async () => 'open sesame', log: () => {} }, true],
  ])('describes Admin only where it is served (%#)', async (admin, isThere) => {
    await using opened = await openServer(admin === undefined ? {} : { admin })
    using client = openClient(`127.0.0.1:${opened.port}`)
    const asItIs = (bytes: Buffer) => bytes
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
    const listServices = Buffer.from([0x3a, 1, 0x2a])
    const listed = await client.watch({ path, requestSerialize: asItIs, responseDeserialize: asItIs }, listServices)
    expect(listed.toString()).toContain('weir.v1.RateLimit')
    expect(listed.includes('weir.v1.Admin')).toBe(isThere)
  })

  test('keeps nothing of the names that somebody watches', async () => {
    await using opened = await openServer()
    using client = openClient(`127.0.0.1:${opened.port}`)
    const Watch = (healthProtocol['grpc.health.v1.Health'] as unknown as { Watch: typeof rateLimitService.ShouldAllow })
      .Watch
    const watch = (service: string) => client.watch(Watch as never, { service } as never)
    expect(await watch('weir.v1.RateLimit')).toEqual({ status: 'SERVING' })
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const heapBytes = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = heapBytes()
    for (let index = 0; index < 500; index += 1)
      expect(await watch(`${'x'.repeat(60_000)}${index}`)).toEqual({ status: 'SERVICE_UNKNOWN' })
    // What was asked is 30 MB.
    expect(heapBytes() - before).toBeLessThan(10_000_000)
  })

  test('draining answers the calls under way, and takes no new ones', async () => {
    const asked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<TakeOutcome>()
    const store: BucketStore = {
      take: () => {
        asked.resolve()
        return release.promise
      },
      reset: async () => ({ kind: 'reset' }),
    }
    const opened = await openServer({ store })
    using client = openClient(`127.0.0.1:${opened.port}`)
    const underWay = client.shouldAllow(ask('a'))
    await asked.promise
    const drained = opened.server[Symbol.asyncDispose]()
    release.resolve({ kind: 'unavailable', settle: async () => [] })
    expect(await underWay).toMatchObject({ ok: true, response: { verdict: 'ALLOW', basis: 'SHARE' } })
    await drained
    expect(await client.shouldAllow(ask('a'))).toMatchObject({ ok: false, error: { code: status.UNAVAILABLE } })
  })

  test.each([0, 1, 2, 3])(
    'a connection that breaks as the drain begins does not hold it up (%i turns later)',
    async (turns) => {
      const opened = await openServer()
      using client = breakableClient(opened.port)
      await client.greeted
      client.break()
      for (let turn = 0; turn < turns; turn += 1) await setImmediate()
      await opened.server[Symbol.asyncDispose]()
    },
    3_500,
  )

  test('a port in use is a value that names it', async () => {
    await using opened = await openServer()
    await using other = await openServer()
    const bound = await other.server.listen(`127.0.0.1:${opened.port}`)
    expect(bound).toMatchObject({ ok: false, fault: { error: { message: expect.stringContaining('EADDRINUSE') } } })
  })

  test('listens on a Unix socket that only owner and group may use, also where a dead one lies', async () => {
    const path = join(tmpdir(), `weir-${randomUUID()}.sock`)
    await leaveStaleSocket(path)
    await using opened = await openServer()
    expect(await opened.server.listen(`unix:${path}`)).toMatchObject({ ok: true })
    expect((await stat(path)).mode & 0o777).toBe(0o660)
    using client = openClient(`unix:${path}`)
    expect(await client.shouldAllow(ask('a'))).toMatchObject({ ok: true })
    await using second = await openServer()
    expect(await second.server.listen(`unix:${path}`)).toMatchObject({ ok: false })
  })
})

/** Says goodbye as grpc-go does, with a stream of its own as the last: to Node's HTTP/2 a breach that ends the connection. */
const breakableClient = (port: number) => {
  const goAway = Buffer.from('0000080700000000000000000100000000', 'hex')
  const settings = Buffer.from('000000040000000000', 'hex')
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings]))
  return {
    greeted: once(socket, 'data'),
    break: () => socket.write(goAway),
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** A socket file whose listener was killed: closing one properly would remove the file. */
const leaveStaleSocket = async (path: string) => {
  const child = spawn(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`,
  ])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

describe('Peek and Reset', () => {
  const calls: unknown[] = []
  const admin = { readToken: async () => 'open sesame', log: (call: unknown) => calls.push(call) }

  test('need the token; every call is logged, without it', async () => {
    await using opened = await openServer({ admin })
    using client = openClient(`127.0.0.1:${opened.port}`)
    for (const token of [undefined, '', 'open', 'open sesame '])
      expect(await client.peek(ask('a'), token)).toMatchObject({ ok: false, error: { code: status.UNAUTHENTICATED } })
    expect(await client.peek(ask('a'), 'open sesame')).toMatchObject({ ok: true })
    expect(calls).toHaveLength(5)
    expect(calls[0]).toMatchObject({
      method: 'Peek',
      result: 'unauthenticated',
      peer: expect.stringContaining('127.0.0.1'),
    })
    expect(calls.at(-1)).toMatchObject({ result: 'done', asked: { domain: 'api', attributes: { client: 'a' } } })
    expect(JSON.stringify(calls)).not.toContain('open')
  })

  test('show and fill the buckets that such a request would be charged to', async () => {
    await using opened = await openServer({ admin })
    using client = openClient(`127.0.0.1:${opened.port}`)
    await client.shouldAllow(ask('a', 10))
    expect(await client.peek(ask('a'), 'open sesame')).toMatchObject({
      response: { quotas: [{ policy: 'per-client', quota: { limit: 10 } }] },
    })
    expect(await client.reset(ask('a'), 'open sesame')).toMatchObject({ response: { policies: ['per-client'] } })
    expect(await client.shouldAllow(ask('a'))).toMatchObject({
      response: { verdict: 'ALLOW', quota: { remaining: 9 } },
    })
  })

  test('say what is wrong with a question', async () => {
    await using opened = await openServer({ admin })
    using client = openClient(`127.0.0.1:${opened.port}`)
    expect(await client.peek({ domain: 'shop', attributes: { client: 'a' } }, 'open sesame')).toMatchObject({
      error: { code: status.NOT_FOUND },
    })
    expect(await client.reset({ ...ask('a'), policy: 'none' }, 'open sesame')).toMatchObject({
      error: { code: status.INVALID_ARGUMENT, details: expect.stringContaining('policy') },
    })
  })

  test('do not exist where no token is configured, and let nobody in when it cannot be read', async () => {
    await using without = await openServer()
    using client = openClient(`127.0.0.1:${without.port}`)
    expect(await client.reset(ask('a'), 'undefined')).toMatchObject({ error: { code: status.UNIMPLEMENTED } })
    await using unreadable = await openServer({ admin: { ...admin, readToken: async () => undefined } })
    using other = openClient(`127.0.0.1:${unreadable.port}`)
    expect(await other.reset(ask('a'), 'undefined')).toMatchObject({ error: { code: status.UNAUTHENTICATED } })
  })
})
