import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rateLimitServiceV3 } from '../../wire/envoy-protocol.ts'
import type { BucketStore } from '../core/store.ts'
import { openClient, openServer } from './server.fixture.ts'

type Client = ReturnType<typeof openClient>
type Request = Parameters<typeof rateLimitServiceV3.ShouldRateLimit.requestSerialize>[0]

const call = (client: Client, request: Request) => client.call(rateLimitServiceV3.ShouldRateLimit, request)

const entries = (pairs: Readonly<Record<string, string>>) =>
  Object.entries(pairs).map(([key, value]) => ({ key, value }))

test('Envoy’s question is answered from the same buckets as ShouldAllow', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  const client1 = { entries: entries({ client: 'a' }), hitsAddend: { value: 4 } }
  expect(await call(client, { domain: 'api', descriptors: [client1] })).toMatchObject({
    response: {
      overallCode: 'OK',
      statuses: [
        {
          code: 'OK',
          currentLimit: { name: 'per-client', requestsPerUnit: 10, unit: 'HOUR' },
          limitRemaining: 6,
          durationUntilReset: { seconds: 240 },
        },
      ],
    },
  })
  expect(await client.shouldAllow({ domain: 'api', attributes: { client: 'a' } })).toMatchObject({
    response: { quota: { remaining: 5 } },
  })
  expect(await call(client, { domain: 'api', descriptors: [{ ...client1, hitsAddend: { value: 6 } }] })).toMatchObject({
    response: {
      overallCode: 'OVER_LIMIT',
      rawBody: Buffer.from('{"error":"Rate limit exceeded: retry after 60 seconds."}'),
      responseHeadersToAdd: expect.arrayContaining([{ key: 'retry-after', value: '60' }]),
    },
  })
})

test('an unknown domain and a descriptor that nothing matches pass', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  const descriptors = [{ entries: entries({ color: 'red' }) }, { entries: [] }]
  for (const domain of ['api', 'nobody-knows'])
    expect(await call(client, { domain, descriptors })).toMatchObject({
      response: { overallCode: 'OK', statuses: [{ code: 'OK' }, { code: 'OK' }] },
    })
})

test('a request of one descriptor too few is an error that names the field', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  expect(await call(client, { domain: 'api', descriptors: [] })).toMatchObject({
    error: { code: status.INVALID_ARGUMENT, details: 'descriptors is empty' },
  })
})

test('what a client of Envoy puts into a header is counted and never an error, which Envoy would let pass', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  for (const value of ['', 'x'.repeat(60_000), '\uFFFD', 'é{}%:'])
    expect(await call(client, { domain: 'api', descriptors: [{ entries: entries({ client: value }) }] })).toMatchObject(
      {
        response: { overallCode: 'OK', statuses: [{ limitRemaining: 9 }] },
      },
    )
})

test('a header that comes in many descriptors makes a long message, which is counted too', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  const descriptor = { entries: entries({ client: 'a', path: 'x'.repeat(60_000) }) }
  expect(await call(client, { domain: 'api', descriptors: Array(10).fill(descriptor) })).toMatchObject({
    response: { overallCode: 'OK', statuses: Array(10).fill({ limitRemaining: 0 }) },
  })
})

test('whatever bytes arrive, the answer is an answer or a fault of the caller', async () => {
  await using opened = await openServer()
  using client = openClient(`127.0.0.1:${opened.port}`)
  const method = { ...rateLimitServiceV3.ShouldRateLimit, requestSerialize: (raw: Buffer) => raw }
  const valid = method.requestSerialize(
    rateLimitServiceV3.ShouldRateLimit.requestSerialize({
      domain: 'api',
      descriptors: [{ entries: entries({ client: 'a' }), limit: { requestsPerUnit: 3, unit: 'DAY' }, hitsAddend: {} }],
    }),
  )
  const mutated = fc
    .tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 }), fc.uint8Array({ maxLength: 8 }))
    .map(([at, byte, tail]) => {
      const bytes = Buffer.concat([valid, tail])
      bytes[at] = byte
      return bytes
    })
  await fc.assert(
    fc.asyncProperty(mutated, async (bytes) => {
      const reply = await client.call(method, bytes)
      if (!reply.ok) expect(reply.error.code).toBe(status.INVALID_ARGUMENT)
    }),
    { numRuns: 300 },
  )
})

test('a bug that one call meets is an error of that call', async () => {
  const store: BucketStore = {
    take: async () => {
      throw new Error('a bug')
    },
    reset: async () => ({ kind: 'reset' }),
  }
  const bugs: unknown[] = []
  await using opened = await openServer({ store, onBug: (error) => bugs.push(error) })
  using client = openClient(`127.0.0.1:${opened.port}`)
  expect(await call(client, { domain: 'api', descriptors: [{ entries: entries({ client: 'a' }) }] })).toMatchObject({
    error: { code: status.INTERNAL },
  })
  expect(bugs).toHaveLength(1)
})
