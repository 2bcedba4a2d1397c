import { type ClientHttp2Stream, constants } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { status } from '@grpc/grpc-js'
import { expect, test, vi } from 'vitest'
import { call, message, openEcho, PATH } from './raw-call.fixture.ts'
import { framed } from './request-body.ts'

/** What only grpc-js says. */
const servedByGrpcJs = ({ headers }: { readonly headers: object }) => 'grpc-accept-encoding' in headers

test('the usual call is answered without grpc-js, whether it says how long it waits or not', async () => {
  await using echo = await openEcho()
  const waiting: Readonly<Record<string, string>>[] = [{}, { 'grpc-timeout': '5S' }, { 'grpc-timeout': '99999999H' }]
  for (const more of waiting) {
    const answered = await call(echo.session, (stream) => stream.end(message('hello')), more)
    expect(answered).toMatchObject({ httpStatus: 200, code: status.OK, body: message('hello'), reset: 0 })
    expect(servedByGrpcJs(answered)).toBe(false)
  }
})

/** Served by grpc-js, for what it is worth. */
const UNUSUAL = { 'content-type': 'application/grpc+test' } as const

test('a call that is unusual is answered by grpc-js', async () => {
  await using echo = await openEcho()
  const answered = await call(echo.session, (stream) => stream.end(message('hello')), UNUSUAL)
  expect(answered).toMatchObject({ code: status.OK, body: message('hello') })
  expect(servedByGrpcJs(answered)).toBe(true)
  const send = (stream: { readonly end: (bytes: Buffer) => unknown }) => stream.end(message('hello'))
  expect(await call(echo.session, send, { 'grpc-timeout': 'soon' })).toMatchObject({ code: status.INTERNAL })
  expect(await call(echo.session, send, { 'content-type': 'text/plain' })).toMatchObject({ httpStatus: 415 })
  expect(await call(echo.session, send, { ':path': '/test.Service/None' })).toMatchObject({
    code: status.UNIMPLEMENTED,
  })
})

test('a request may come in any pieces', async () => {
  await using echo = await openEcho()
  const whole = message('x'.repeat(5_000))
  for (const size of [1, 3, 4, 5, 6, 1_024, 4_999]) {
    const answered = await call(echo.session, (stream) => {
      const writeFrom = (at: number) => {
        if (at >= whole.length) stream.end()
        else stream.write(whole.subarray(at, at + size), () => writeFrom(at + size))
      }
      writeFrom(0)
    })
    expect(answered).toMatchObject({ code: status.OK, body: whole })
  }
})

test.each([
  ['none', Buffer.alloc(0), status.UNIMPLEMENTED, 'no message'],
  ['half a prefix', Buffer.alloc(3), status.UNIMPLEMENTED, 'no message'],
  ['less than it says', message('hello').subarray(0, 8), status.UNIMPLEMENTED, 'no message'],
  ['two', Buffer.concat([message('a'), message('b')]), status.UNIMPLEMENTED, 'more than one'],
  ['one that says it is compressed', Buffer.from([1, 0, 0, 0, 1, 65]), status.INTERNAL, 'compressed'],
])('of messages: %s, is a fault of the caller', async (_, bytes, code, details) => {
  await using echo = await openEcho()
  expect(await call(echo.session, (stream) => stream.end(bytes))).toMatchObject({
    code,
    details: expect.stringContaining(details),
  })
  expect(await call(echo.session, (stream) => stream.end(message('next')))).toMatchObject({ code: status.OK })
})

test('a second message that comes later is one too many', async () => {
  await using echo = await openEcho()
  const answered = await call(echo.session, (stream) => {
    stream.write(message('a'), () => stream.end(message('b')))
  })
  expect(answered).toMatchObject({ code: status.UNIMPLEMENTED, details: expect.stringContaining('more than one') })
})

test('a request that says it is too long is refused by its first bytes, and its stream is closed', async () => {
  const asked = vi.fn()
  await using echo = await openEcho({ answer: asked })
  const prefix = Buffer.from([0, 0xff, 0xff, 0xff, 0xff])
  expect(await call(echo.session, (stream) => void stream.write(prefix))).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    details: 'too large',
    reset: constants.NGHTTP2_NO_ERROR,
  })
  expect(asked).not.toHaveBeenCalled()
})

test('at the end of the time that the caller waits it is told so: while it is asked, or while it sends', async () => {
  let answers = 0
  await using echo = await openEcho({
    answer: async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      answers += 1
      return { ok: true, message: request }
    },
  })
  const late = { code: status.DEADLINE_EXCEEDED }
  const waits = { 'grpc-timeout': '20m' }
  expect(await call(echo.session, (stream) => stream.end(message('a')), waits)).toMatchObject(late)
  expect(await call(echo.session, (stream) => void stream.write(Buffer.alloc(2)), waits)).toMatchObject(late)
  // The answer that comes then is nobody's.
  await vi.waitFor(() => expect(answers).toBe(1))
  expect(await call(echo.session, (stream) => stream.end(message('b')))).toMatchObject({ code: status.OK })
})

test('an answer that comes with the end of the time is not a second one', async () => {
  await using echo = await openEcho({
    answer: async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { ok: true, message: request }
    },
  })
  const calls = Array.from({ length: 50 }, () =>
    call(echo.session, (stream) => stream.end(message('a')), { 'grpc-timeout': '20m' }),
  )
  for (const { code } of await Promise.all(calls)) expect([status.OK, status.DEADLINE_EXCEEDED]).toContain(code)
})

test('a caller that goes away while it is asked disturbs nobody', async () => {
  const asked = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  await using echo = await openEcho({
    answer: async (request) => {
      if (request.toString() !== 'gone') return { ok: true, message: request }
      asked.resolve()
      await release.promise
      return { ok: true, message: request }
    },
  })
  const gone = call(echo.session, (stream) => {
    stream.end(message('gone'))
    void asked.promise.then(() => stream.close(constants.NGHTTP2_CANCEL))
  })
  expect(await gone).toMatchObject({ code: Number.NaN })
  release.resolve()
  expect(await call(echo.session, (stream) => stream.end(message('here')))).toMatchObject({ code: status.OK })
})

test('a request that does not arrive is given up, also one without a deadline', async () => {
  await using echo = await openEcho({ patienceMs: 50 })
  const slow = [Buffer.alloc(0), Buffer.alloc(3), message('hello').subarray(0, 7)].map((part) =>
    call(echo.session, (stream) => void (part.length === 0 ? undefined : stream.write(part))),
  )
  for (const answered of await Promise.all(slow))
    expect(answered).toMatchObject({ code: status.DEADLINE_EXCEEDED, details: expect.stringContaining('arrive') })
})

test('requests that are never finished take memory within a bound, and whoever asks at once is answered meanwhile', async () => {
  await using echo = await openEcho({ maxHeldBytes: 50_000, patienceMs: 60_000 })
  const start = message('x'.repeat(20_000)).subarray(0, 15_000)
  let refused = 0
  for (let index = 0; index < 10; index += 1)
    void call(echo.session, (stream) => void stream.write(start)).then(({ code }) => {
      if (code === status.RESOURCE_EXHAUSTED) refused += 1
    })
  await vi.waitFor(() => expect(refused).toBe(7))
  expect(await call(echo.session, (stream) => stream.end(message('hello')))).toMatchObject({ code: status.OK })
})

test('memory of requests that ended is there for the next', async () => {
  await using echo = await openEcho({ maxHeldBytes: 50_000, patienceMs: 60_000 })
  const whole = message('x'.repeat(40_000))
  for (let index = 0; index < 10; index += 1) {
    const answered = await call(echo.session, (stream) => {
      stream.write(whole.subarray(0, 100), () => stream.end(whole.subarray(100)))
    })
    expect(answered.code).toBe(status.OK)
    const gone = await call(echo.session, (stream) => {
      stream.write(whole.subarray(0, 30_000), () => stream.close(constants.NGHTTP2_CANCEL))
    })
    expect(gone.code).toBeNaN()
  }
})

test('whatever a refusal says arrives as it was said', async () => {
  const details = 'é % \n "ü" \uD800 100 %25'
  await using echo = await openEcho({ answer: async () => ({ ok: false, refusal: { code: 5, details } }) })
  expect(await call(echo.session, (stream) => stream.end(message('a')))).toMatchObject({
    code: 5,
    details: details.replace('\uD800', '\uFFFD'),
  })
})

test('what is compressed is refused before it is read: nobody knows how long it is', async () => {
  await using echo = await openEcho()
  const zipped = framed(gzipSync('hello'))
  zipped[0] = 1
  for (const more of [{}, { ':path': '/test.Service/None' }]) {
    const answered = await call(echo.session, (stream) => stream.end(zipped), { 'grpc-encoding': 'gzip', ...more })
    expect(answered).toMatchObject({ code: status.UNIMPLEMENTED, details: expect.stringContaining('compressed') })
  }
})

test('headers over 8 KiB are refused, also those that took a few bytes on the way', async () => {
  await using echo = await openEcho()
  const asked = (bytes: number) =>
    call(echo.session, (stream) => stream.end(message('hello')), { 'x-a': 'a'.repeat(bytes) })
  expect(await asked(8_000)).toMatchObject({ code: status.OK })
  for (let times = 0; times < 3; times += 1)
    expect(await asked(8_192)).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringContaining('headers'),
    })
})

const begin = (stream: { readonly write: (bytes: Buffer) => unknown }) =>
  void stream.write(message('hello').subarray(0, 7))

test('a call that grpc-js serves is given up in the same time, also one of a method that nobody knows', async () => {
  await using echo = await openEcho({ patienceMs: 50 })
  expect(await call(echo.session, begin, UNUSUAL)).toMatchObject({ reset: constants.NGHTTP2_ENHANCE_YOUR_CALM })
  const unknown = await call(echo.session, begin, { ':path': '/test.Service/None' })
  expect(unknown).toMatchObject({ code: status.UNIMPLEMENTED, reset: constants.NGHTTP2_ENHANCE_YOUR_CALM })
})

test('what a call that grpc-js serves has sent so far counts as memory, too', async () => {
  await using echo = await openEcho({ maxHeldBytes: 50_000, patienceMs: 60_000 })
  const start = message('x'.repeat(90_000)).subarray(0, 60_000)
  expect(await call(echo.session, (stream) => void stream.write(start), UNUSUAL)).toMatchObject({
    reset: constants.NGHTTP2_ENHANCE_YOUR_CALM,
  })
})

test('a stream of requests lasts, but for one in whose midst a request stops', async () => {
  await using echo = await openEcho({ patienceMs: 50, lasting: [PATH] })
  let isOver = false
  void call(echo.session, () => {}, UNUSUAL).then(() => (isOver = true))
  for (const bytes of [2, 7]) {
    const stops = (stream: ClientHttp2Stream) => void stream.write(message('hello').subarray(0, bytes))
    expect(await call(echo.session, stops, UNUSUAL)).toMatchObject({ reset: constants.NGHTTP2_ENHANCE_YOUR_CALM })
  }
  expect(isOver).toBe(false)
})

test('one connection has a hundred lasting streams; one that closes makes room', async () => {
  await using echo = await openEcho({ lasting: [PATH] })
  const open: ClientHttp2Stream[] = []
  const openOne = () => call(echo.session, (stream) => void open.push(stream), UNUSUAL)
  for (let index = 0; index < 100; index += 1) void openOne()
  const refused = { code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('streams') }
  expect(await openOne()).toMatchObject(refused)
  open[0]?.close(constants.NGHTTP2_CANCEL)
  await vi.waitFor(async () => {
    const answered = await call(echo.session, (stream) => stream.end(message('a')), UNUSUAL)
    expect(answered).toMatchObject({ code: status.OK })
  })
})

test('who does not take an answer is given up', async () => {
  await using echo = await openEcho({ patienceMs: 50, windowBytes: 0 })
  const answered = await call(echo.session, (stream) => stream.end(message('hello')))
  expect(answered).toMatchObject({ reset: constants.NGHTTP2_ENHANCE_YOUR_CALM })
})

test('a connection on which a hundred calls were given up is closed', async () => {
  await using echo = await openEcho({ patienceMs: 50 })
  const calls = Array.from({ length: 100 }, () => call(echo.session, begin))
  await Promise.all(calls)
  await vi.waitFor(() => expect(echo.session.destroyed).toBe(true))
})

test('beyond so many that wait for their callers one more is refused, but soon the oldest makes room for it', async () => {
  await using echo = await openEcho({ maxCalls: 5, patienceMs: 60_000 })
  const ended: number[] = []
  for (let index = 0; index < 5; index += 1)
    void call(echo.session, begin).then(({ code }) => {
      if (code === status.RESOURCE_EXHAUSTED) ended.push(index)
    })
  const ask = () => call(echo.session, (stream) => stream.end(message('hello')))
  expect(await ask()).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  expect(ended).toEqual([])
  await vi.waitFor(async () => expect(await ask()).toMatchObject({ code: status.OK }))
  await vi.waitFor(() => expect(ended).toEqual([0]))
})

test('where refusals are not even taken, their connection is closed', async () => {
  await using echo = await openEcho({ maxCalls: 0, maxLingering: 2, windowBytes: 0 })
  const ask = () => call(echo.session, (stream) => stream.end(message('hello')))
  for (let times = 0; times < 5; times += 1) expect(await ask()).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  await Promise.all(Array.from({ length: 3 }, ask))
  await vi.waitFor(() => expect(echo.session.destroyed).toBe(true))
})

test('requests that arrive together are asked about together', async () => {
  let asked = 0
  let together = 0
  await using echo = await openEcho({
    answer: async (request) => {
      asked += 1
      // As a store's queue sends what it has when the first take comes.
      if (asked === 1) queueMicrotask(() => (together = Math.max(together, asked)))
      return { ok: true, message: request }
    },
  })
  // They may come in two reads; not each time in twenty.
  for (let times = 0; times < 10; times += 1) {
    asked = 0
    await Promise.all(Array.from({ length: 20 }, () => call(echo.session, (stream) => stream.end(message('a')))))
    expect(asked).toBe(20)
  }
  expect(together).toBeGreaterThan(1)
})
