import { once } from 'node:events'
import { connect } from 'node:http2'
import { expect, test } from 'vitest'
import { rateLimitServiceV3 } from '../../wire/envoy-protocol.ts'
import { rateLimitService } from '../../wire/protocol.ts'
import { call } from '../unary/raw-call.fixture.ts'
import { framed } from '../unary/request-body.ts'
import { openServer } from './server.fixture.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`

const { ShouldAllow } = rateLimitService
const { ShouldRateLimit } = rateLimitServiceV3
const check = ShouldAllow.requestSerialize({ domain: 'api', attributes: { client: 'a' } })
const question = ShouldRateLimit.requestSerialize({
  domain: 'api',
  descriptors: [{ entries: [{ key: 'client', value: 'a' }] }],
})

test.each([
  [ShouldAllow.path, check, { 'rpc.method': 'weir.v1.RateLimit/ShouldAllow' }],
  [
    ShouldRateLimit.path,
    question,
    { 'rpc.method': 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit', 'weir.descriptors': 1 },
  ],
])('%s is a step of the trace that its caller names, and of none if it names none', async (path, request, said) => {
  const told: object[] = []
  await using opened = await openServer({
    tracing: {
      start: (_, { parent, attributes }) => {
        let notes = attributes
        return {
          at: { traceId: '', spanId: '', isSampled: true },
          rename: () => {},
          linkTo: () => {},
          note: (more) => {
            notes = { ...notes, ...more }
          },
          end: () => told.push({ traceId: parent?.traceId, ...notes }),
        }
      },
      run: (_, work) => work(),
      active: () => undefined,
    },
  })
  const session = connect(`http://127.0.0.1:${opened.port}`)
  for (const headers of [{}, { traceparent: 'nonsense' }, { traceparent }])
    expect((await call(session, (stream) => stream.end(framed(request)), { ':path': path, ...headers })).code).toBe(0)
  expect(told).toEqual([expect.objectContaining({ traceId: TRACE_ID, 'weir.domain': 'api', ...said })])
  session.close()
  await once(session, 'close')
})
