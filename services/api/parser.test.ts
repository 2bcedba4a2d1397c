// What Node's HTTP parser refuses, or answers by itself, over real connections.
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test, vi } from 'vitest'
import { allowed, denied, exchange, openApp, reader, writer } from './app.fixture.ts'
import { waitingBytes } from './http/connection/in-turn.ts'
import { httpLimits } from './http/connection/limits.ts'

const get = (target: string, ...lines: readonly string[]) =>
  `${[`GET ${target} HTTP/1.1`, 'Host: test', ...lines].join('\r\n')}\r\n\r\n`
const post = (...lines: readonly string[]) =>
  ['POST /v1/notes HTTP/1.1', 'Host: test', `Authorization: Bearer ${writer.key}`, ...lines].join('\r\n')

type Case = {
  readonly claim: string
  readonly bytes: string
  readonly status: number
  readonly code: string
  /** Whether the connection can be used for another request. */
  readonly closes: boolean
  readonly client?: string
}

const cases: readonly Case[] = [
  // What has no request that could be read: charged to the address all the same, and the connection closes.
  ...[
    ['bytes that are no HTTP', '\x00\x01\x02\x03\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a method that there is not', 'FOO /v1/notes HTTP/1.1\r\nHost: test\r\n\r\n'],
    ['a method in small letters', 'get /v1/notes HTTP/1.1\r\nHost: test\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another version', 'GET /v1/notes HTTP/3.0\r\nHost: test\r\n\r\n'],
    ['a space in the URL', get('/v1/notes?a b')],
    ['a control character in the URL', get('/v1/notes\x01')],
    ['a byte outside ASCII in the URL', get('/v1/n\xf6tes')],
    ['a URL that does not begin with a slash', get('v1/notes')],
    ['a header without a colon', get('/v1/notes', 'nonsense')],
    ['a NUL in a header', get('/v1/notes', 'X-Note: a\x00b')],
    ['a folded header', get('/v1/notes', 'X-Note: a\r\n b')],
    ['lines that end in LF only', 'GET /v1/notes HTTP/1.1\nHost: test\n\n'],
    ['a Content-Length that is no number', `${post('Content-Length: abc')}\r\n\r\n`],
    ['a Content-Length with a sign', `${post('Content-Length: +2')}\r\n\r\n{}`],
    ['a Content-Length beyond counting', `${post('Content-Length: 99999999999999999999999')}\r\n\r\n{}`],
    ['two Content-Lengths', `${post('Content-Length: 2', 'Content-Length: 3')}\r\n\r\n{} `],
    [
      'Content-Length and Transfer-Encoding',
      `${post('Content-Length: 2', 'Transfer-Encoding: chunked')}\r\n\r\n0\r\n\r\n`,
    ],
    ['chunked twice', `${post('Transfer-Encoding: chunked, chunked')}\r\n\r\n0\r\n\r\n`],
  ].map(([claim = '', bytes = '']) => ({ claim, bytes, status: 400, code: 'malformed_request', closes: true })),
  {
    claim: '20 KB of headers',
    bytes: get('/v1/notes', `X-Note: ${'a'.repeat(20_000)}`),
    status: 431,
    code: 'headers_too_large',
    closes: true,
  },
  {
    claim: 'a thousand small headers',
    bytes: get('/v1/notes', ...Array.from({ length: 2_000 }, (_, index) => `X-${index}: aaaa`)),
    status: 431,
    code: 'headers_too_large',
    closes: true,
  },
  {
    claim: 'a URL of 20 KB',
    bytes: get(`/v1/notes/${'a'.repeat(20_000)}`),
    status: 414,
    code: 'url_too_long',
    closes: true,
  },

  // What was read, but would not reach the app's own hooks.
  {
    claim: 'a URL of 9 KB',
    bytes: get(`/v1/notes/${'a'.repeat(9_000)}`),
    status: 414,
    code: 'url_too_long',
    closes: false,
  },
  ...['/v1/notes/%zz', '/v1/notes/%', '/v1/notes/%E4%B8', '/v1/notes/%ff', '/%zz', '/v1/notes?limit=%zz'].map(
    (target) => ({
      claim: `bad percent-encoding: ${target}`,
      bytes: get(target),
      status: 400,
      code: 'malformed_url',
      closes: false,
    }),
  ),
  {
    claim: 'no Host',
    bytes: 'GET /v1/notes HTTP/1.1\r\n\r\n',
    status: 400,
    code: 'host_required',
    closes: false,
  },
  {
    claim: 'two Hosts',
    bytes: get('/v1/notes', 'Host: other'),
    status: 400,
    code: 'host_required',
    closes: false,
  },
  {
    claim: 'an expectation that cannot be met',
    bytes: get('/v1/notes', 'Expect: 200-ok'),
    status: 417,
    code: 'expectation_failed',
    closes: false,
  },
  {
    claim: 'CONNECT',
    bytes: 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    status: 405,
    code: 'method_not_allowed',
    closes: true,
  },
  {
    claim: 'OPTIONS *',
    bytes: 'OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n',
    status: 404,
    code: 'path_not_found',
    closes: false,
  },
  {
    claim: 'an absolute URL without a path',
    bytes: get('http://test'),
    status: 404,
    code: 'path_not_found',
    closes: false,
  },

  // What goes wrong after the header: the request is under way and charged to its key.
  ...[
    [
      'a chunk size that is no number',
      `${post('Content-Type: application/json', 'Transfer-Encoding: chunked')}\r\n\r\nzz\r\n`,
    ],
    [
      'a Transfer-Encoding that is not chunked',
      `${post('Content-Type: application/json', 'Transfer-Encoding: gzip')}\r\n\r\nabc`,
    ],
    [
      'a chunk longer than it says',
      `${post('Content-Type: application/json', 'Transfer-Encoding: chunked')}\r\n\r\n1\r\nabc\r\n`,
    ],
  ].map(([claim = '', bytes = '']) => ({
    claim,
    bytes,
    status: 400,
    code: 'malformed_request',
    closes: true,
    client: 'user:acme',
  })),
]

describe('what the parser refuses has the shape of every error and is charged', () => {
  test.each(cases)('$claim: $status $code', async ({ bytes, status, code, closes, client = 'ip:127.0.0.1' }) => {
    await using api = await openApp()
    const { responses, isClosed } = await exchange(api.url, [bytes], closes ? {} : { answers: 1 })
    expect(responses).toHaveLength(1)
    const [response] = responses
    expect(response?.status).toBe(status)
    expect(JSON.parse(response?.body ?? '')).toEqual({ error: { code, message: expect.any(String) } })
    expect(response?.headers.get('content-type')).toBe('application/json')
    expect(response?.headers.get('ratelimit-limit')).toBe('60')
    expect(response?.headers.get('ratelimit-remaining')).toBe('59')
    expect(response?.headers.get('connection')).toBe(closes ? 'close' : 'keep-alive')
    expect(isClosed).toBe(closes)
    expect(api.checks).toHaveLength(1)
    expect(api.checks[0]?.['client']).toBe(client)
  })

  test.each(cases)('$claim: 429 when its allowance is used up', async ({ bytes }) => {
    await using api = await openApp({ decide: () => denied })
    const { responses } = await exchange(api.url, [bytes], { answers: 1 })
    expect(responses[0]?.status).toBe(429)
    expect(JSON.parse(responses[0]?.body ?? '')).toEqual({ error: expect.stringContaining('7 seconds') })
    expect(responses[0]?.headers.get('retry-after')).toBe('7')
  })

  test('what no route was found for is charged as unmatched', async () => {
    await using api = await openApp()
    for (const bytes of [get('/v1/notes/%zz'), 'FOO / HTTP/1.1\r\n\r\n', get('/v1/notes', 'Host: other')])
      await exchange(api.url, [bytes], { answers: 1 })
    expect(api.checks.map(({ route }) => route)).toEqual(['unmatched', 'unmatched', 'unmatched'])
  })

  test('a malformed request after good ones is answered in its turn', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await using api = await openApp({
      decide: async ({ attributes }) => {
        if (attributes.get('route') === 'GET /v1/notes') await held
        return allowed
      },
    })
    const answered = exchange(api.url, [get('/v1/notes'), get('/v1/notes/1'), 'GARBAGE\r\n\r\n'])
    setTimeout(release, 50)
    const { responses, isClosed } = await answered
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400])
    expect(isClosed).toBe(true)
  })

  test('an upgrade is not made, and the request answered as it is, as the last of its connection', async () => {
    await using api = await openApp()
    const upgrade = get('/v1/notes', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk')
    const { responses } = await exchange(api.url, [upgrade], { answers: 1 })
    expect([responses[0]?.status, responses[0]?.headers.get('connection')]).toEqual([200, 'close'])
    expect(api.checks).toHaveLength(1)
  })

  test('CONNECT after a request that is under way is answered in its turn', async () => {
    await using api = await openApp({ decide: () => new Promise((resolve) => setTimeout(resolve, 30, allowed)) })
    const { responses, isClosed } = await exchange(api.url, [
      `${get('/v1/notes')}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`,
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 405])
    expect(isClosed).toBe(true)
  })

  test('a malformed body behind a refusal is not answered twice', async () => {
    await using api = await openApp()
    const head = `POST /v1/notes HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n`
    const { responses, isClosed } = await exchange(api.url, [head, '1\r\na\r\n', 'zz\r\n'])
    expect(responses.map(({ status }) => status)).toEqual([401])
    expect(isClosed).toBe(true)
  })

  test('more of the same while the gate is asked is answered once', async () => {
    await using api = await openApp({ decide: () => new Promise((resolve) => setTimeout(resolve, 100, allowed)) })
    const pause = new Promise((resolve) => setTimeout(resolve, 30))
    const { responses } = await exchange(api.url, ['GARBAGE\r\n\r\n', pause, 'GARBAGE\r\n\r\n'])
    expect(responses.map(({ status }) => status)).toEqual([400])
    expect(api.checks).toHaveLength(1)
  })

  test('an answer reaches a client that is still sending', async () => {
    await using api = await openApp()
    const { responses } = await exchange(api.url, [get('/v1/notes', `X-Note: ${'a'.repeat(8_000_000)}`)], {
      readsLate: true,
    })
    expect(responses.map(({ status }) => status)).toEqual([431])
  })
})

describe('a body', () => {
  const inPieces = (count: number) => {
    const text = `"${'a'.repeat(count - 2)}"`
    return [...text].map((byte) => `1\r\n${byte}\r\n`).join('')
  }
  const head = post('Content-Type: application/json', 'Transfer-Encoding: chunked')

  test('may come in many pieces, and not in any number', async () => {
    await using api = await openApp()
    const most = httpLimits.bodyPieces
    const { responses, isClosed } = await exchange(api.url, [
      `${head}\r\n\r\n${inPieces(most)}0\r\n\r\n`,
      `${head}\r\n\r\n${inPieces(most + 1)}0\r\n\r\n`,
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 413])
    expect(isClosed).toBe(true)
    expect(JSON.parse(responses[1]?.body ?? '').error.code).toBe('body_too_large')
  })

  test('in too many pieces is refused also if they come before the gate has answered, and no more of it is read', async () => {
    const gate = Promise.withResolvers<void>()
    await using api = await openApp({ decide: () => gate.promise.then(() => allowed) })
    const connected = new Promise<Socket>((resolve) => api.app.server.once('connection', resolve))
    const answered = exchange(api.url, [`${head}\r\n\r\n`, inPieces(100 * httpLimits.bodyPieces)])
    const socket = await connected
    await vi.waitFor(() => expect(socket.bytesRead).toBeGreaterThan(head.length))
    gate.resolve()
    const { responses, isClosed } = await answered
    expect(responses.map(({ status, body }) => [status, JSON.parse(body).error.code])).toEqual([
      [413, 'body_too_large'],
    ])
    expect(isClosed).toBe(true)
    expect(api.checks).toHaveLength(1)
    // A packet with the header, and at most two after it.
    expect(socket.bytesRead).toBeLessThan(200_000)
  })

  test('that nobody reads is read to its end if that is near, and the connection stays', async () => {
    await using api = await openApp()
    const bytes = 'a'.repeat(httpLimits.bodyBytes)
    const { responses } = await exchange(
      api.url,
      [
        `POST /v1/notes HTTP/1.1\r\nHost: test\r\nContent-Length: ${bytes.length}\r\n\r\n`,
        vi.waitFor(() => expect(api.checks).toHaveLength(1)),
        bytes,
        get('/v1/notes'),
      ],
      { answers: 2 },
    )
    expect(responses.map(({ status }) => status)).toEqual([401, 200])
  })

  test.each([
    ['refused', 'POST /v1/notes HTTP/1.1\r\nHost: test'],
    ['not wanted', 'GET /v1/notes HTTP/1.1\r\nHost: test'],
    ['too large', head.replace('\r\nTransfer-Encoding: chunked', '')],
  ])('without an end that is %s is not read for ever', async (_claim, start) => {
    await using api = await openApp()
    const connected = new Promise<Socket>((resolve) => api.app.server.once('connection', resolve))
    const client = connect(Number(new URL(api.url).port), '127.0.0.1')
    client.on('error', () => {})
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    client.write(`${start}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`
    const pump = () => {
      while (!client.destroyed && client.write(chunk));
    }
    client.on('drain', pump)
    pump()
    const socket = await connected
    await vi.waitFor(() => expect(client.destroyed).toBe(true), { timeout: 15_000 })
    expect(received).toMatch(/^HTTP\/1\.1 (401|200|413) /)
    // What the system hands over at once is some megabytes; for as long as the request may take it would be gigabytes.
    expect(socket.bytesRead).toBeLessThan(50_000_000)
  })
})

test('a client that sends on and on has time to read its answer', async () => {
  await using api = await openApp()
  const connected = new Promise<Socket>((resolve) => api.app.server.once('connection', resolve))
  const client = connect(Number(new URL(api.url).port), '127.0.0.1')
  client.on('error', () => {})
  // The server's time passes only here: however busy the machine is, its patience does not end before the client has read.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  try {
    client.write(`POST /v1/notes HTTP/1.1\r\nHost: test\r\nContent-Length: 50000000\r\n\r\n${'a'.repeat(50_000_000)}`)
    const socket = await connected
    const stopsReading = new Promise((resolve) => socket.once('finish', resolve))
    await stopsReading
    vi.advanceTimersByTime(httpLimits.lingerMs / 2)
    expect(socket.destroyed).toBe(false)
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    await new Promise((resolve) => client.once('end', resolve))
    expect(received).toMatch(/^HTTP\/1\.1 401 /)
    vi.advanceTimersByTime(httpLimits.lingerMs)
    expect(socket.destroyed).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})

describe('requests that do not wait for the answer to the one before', { timeout: 60_000 }, () => {
  const gateThatOpens = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    return { open: resolve, decide: () => promise.then(() => allowed) }
  }

  const perConnection = 500
  /** How many connections may have so many: one of each is at work. */
  const fitting = Math.floor(
    httpLimits.waitingBytes / ((perConnection - 1) * waitingBytes({ rawHeaders: ['Host', 'test'] })),
  )
  const send = (url: string) => {
    const client = connect(Number(new URL(url).port), '127.0.0.1')
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    client.on('error', () => {})
    client.write(get('/v1/notes').repeat(perConnection - 1) + get('/v1/notes', 'Connection: close'))
    return { client, answers: () => received.split('HTTP/1.1 200 OK').length - 1 }
  }
  const openConnections = ({ server }: FastifyInstance) =>
    new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  const closed = (senders: readonly ReturnType<typeof send>[]) =>
    vi.waitFor(() => expect(senders.every(({ client }) => client.closed)).toBe(true), { timeout: 45_000 })

  test('are worked on one after the other', async () => {
    let atWork = 0
    const atOnce: number[] = []
    await using api = await openApp({
      decide: async () => {
        atWork += 1
        atOnce.push(atWork)
        await new Promise((resolve) => setImmediate(resolve))
        atWork -= 1
        return allowed
      },
    })
    const bodied = `${post('Content-Type: application/json', 'Content-Length: 2')}\r\n\r\n{}`
    const { responses } = await exchange(
      api.url,
      [`${get('/v1/notes')}${bodied}${get('/v1/notes/1', 'Expect: 100-continue')}`, bodied.slice(0, -1), '}'],
      { answers: 4 },
    )
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 100, 200, 200])
    expect(atOnce).toEqual([1, 1, 1, 1])
  })

  test('are neither worked on nor charged behind an answer that closes the connection', async () => {
    await using api = await openApp()
    api.beginDraining()
    const { responses } = await exchange(api.url, [get('/v1/notes').repeat(5)])
    expect(responses.map(({ status }) => status)).toEqual([200])
    expect(api.checks).toHaveLength(1)
  })

  test('are read no further while one waits', async () => {
    const gate = gateThatOpens()
    await using api = await openApp({ decide: gate.decide })
    const connected = new Promise<Socket>((resolve) => api.app.server.once('connection', resolve))
    const count = 5_000
    const client = connect(Number(new URL(api.url).port), '127.0.0.1')
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    client.write(get('/v1/notes').repeat(count - 1) + get('/v1/notes', 'Connection: close'))
    const socket = await connected
    await vi.waitFor(() => expect(socket.isPaused()).toBe(true), { timeout: 45_000 })
    const bytesRead = socket.bytesRead
    // Turns of the event loop in which it would have been read.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(socket.bytesRead).toBe(bytesRead)
    expect(bytesRead).toBeLessThan(100_000)
    gate.open()
    await vi.waitFor(() => expect(client.closed).toBe(true), { timeout: 45_000 })
    expect(received.split('HTTP/1.1 200 OK')).toHaveLength(count + 1)
  })

  test('are held in a bounded number: the connection of one more is closed, and the others are served', async () => {
    const gate = gateThatOpens()
    await using api = await openApp({ decide: gate.decide })
    const senders = Array.from({ length: fitting + 5 }, () => send(api.url))
    await vi.waitFor(() => expect(senders.filter(({ client }) => client.closed)).toHaveLength(5), {
      timeout: 45_000,
    })
    gate.open()
    await closed(senders)
    const answers = senders.map((sender) => sender.answers()).toSorted((a, b) => a - b)
    expect(answers).toEqual([...Array<number>(5).fill(0), ...Array<number>(fitting).fill(perConnection)])
  })

  test('whose clients have gone make room for others', async () => {
    const gate = gateThatOpens()
    await using api = await openApp({ decide: gate.decide })
    const gone = Array.from({ length: fitting }, () => send(api.url))
    await vi.waitFor(() => expect(api.checks).toHaveLength(fitting), { timeout: 45_000 })
    for (const { client } of gone) client.destroy()
    gate.open()
    await vi.waitFor(async () => expect(await openConnections(api.app)).toBe(0), { timeout: 45_000 })
    // That a client has gone shows when it has been answered.
    expect(api.checks.length).toBeLessThan(5 * fitting)
    const later = Array.from({ length: fitting }, () => send(api.url))
    await closed(later)
    expect(later.map((sender) => sender.answers())).toEqual(Array<number>(fitting).fill(perConnection))
  })
})

test('whatever a connection carries, in whatever pieces, the server goes on', { timeout: 60_000 }, async () => {
  await using api = await openApp({ decide: () => new Promise((resolve) => setTimeout(resolve, 2, allowed)) })
  const chunked = post('Content-Type: application/json', 'Transfer-Encoding: chunked')
  const message = fc.constantFrom(
    get('/v1/notes'),
    get('/v1/notes/%zz'),
    get('/v1/notes', 'Expect: 100-continue'),
    get('/v1/notes', 'Transfer-Encoding: chunked'),
    `${post('Content-Type: application/json', 'Content-Length: 2')}\r\n\r\n{}`,
    `${post('Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue')}\r\n\r\n{}`,
    `${chunked}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${chunked}\r\n\r\n2\r\n{}zz`,
    'POST /v1/notes HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GARBAGE\r\n\r\n',
    '\r\n',
  )
  const known = [100, 200, 400, 401, 405]
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 5 }), fc.nat(400), async (messages, cut) => {
      const bytes = messages.join('')
      // The connection ends as the client wants, wherever its last message is.
      const { responses } = await exchange(api.url, [
        bytes.slice(0, cut),
        bytes.slice(cut),
        get('/', 'Connection: close'),
      ])
      for (const { status, body } of responses) {
        expect([...known, 404]).toContain(status)
        if (status >= 400) expect(JSON.parse(body).error.code).toEqual(expect.any(String))
      }
      expect((await fetch(`${api.url}/v1/notes`)).status).toBe(200)
    }),
    { numRuns: 300 },
  )
})

describe.concurrent('time', () => {
  test('a header that does not come to its end is answered 408 and charged', { timeout: 30_000 }, async ({
    expect,
  }) => {
    await using api = await openApp()
    const startMs = performance.now()
    const { responses } = await exchange(api.url, ['GET /v1/notes HTTP/1.1\r\nX-Slow'])
    expect(responses.map(({ status }) => status)).toEqual([408])
    expect(api.checks).toHaveLength(1)
    expect(performance.now() - startMs).toBeLessThan(httpLimits.headersTimeoutMs + 3_000)
  })

  test('a header that is not read, because the request before is at work, has all the time that this takes', {
    timeout: 60_000,
  }, async ({ expect }) => {
    const longer = httpLimits.headersTimeoutMs + 4 * httpLimits.timeoutCheckMs
    await using api = await openApp({ decide: () => new Promise((resolve) => setTimeout(resolve, longer, allowed)) })
    const second = get('/v1/notes', 'Connection: close')
    const { responses } = await exchange(api.url, [
      get('/v1/notes') + second.slice(0, 20),
      new Promise((resolve) => setTimeout(resolve, longer - httpLimits.timeoutCheckMs)),
      second.slice(20),
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 200])
  })

  test('a header whose end comes after it was given up is answered once, and charged once', {
    timeout: 60_000,
  }, async ({ expect }) => {
    const slowGate = new Promise((resolve) => setTimeout(resolve, httpLimits.headersTimeoutMs + 3_000))
    await using api = await openApp({ decide: () => slowGate.then(() => allowed) })
    const request = get('/v1/notes')
    const { responses } = await exchange(api.url, [
      request.slice(0, 20),
      vi.waitFor(() => expect(api.checks).toHaveLength(1), { timeout: 30_000 }),
      request.slice(20),
    ])
    expect(responses.map(({ status }) => status)).toEqual([408])
    expect(api.checks).toHaveLength(1)
  })

  test('a connection that says nothing is closed, uncharged', { timeout: 30_000 }, async ({ expect }) => {
    await using api = await openApp()
    const { responses } = await exchange(api.url, [])
    expect(responses).toEqual([])
    expect(api.checks).toEqual([])
  })

  test('a body that does not come to its end is answered 408', { timeout: 30_000 }, async ({ expect }) => {
    await using api = await openApp()
    const { responses } = await exchange(api.url, [
      `${post('Content-Type: application/json', 'Content-Length: 9')}\r\n\r\n{`,
    ])
    expect(responses.map(({ status }) => status)).toEqual([408])
    expect(JSON.parse(responses[0]?.body ?? '').error.code).toBe('request_timeout')
  })
})

describe('Expect: 100-continue', () => {
  const head = (key: string) =>
    `POST /v1/notes HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`

  test('a caller that may come in is asked for its body', async () => {
    await using api = await openApp()
    const { responses } = await exchange(api.url, [head(writer.key), '{}'], { answers: 1 })
    expect(responses.map(({ status }) => status)).toEqual([100, 200])
    expect(responses[1]?.headers.get('connection')).toBe('keep-alive')
  })

  test.each([
    ['refused by the gate', denied, writer.key, 429],
    ['not permitted', undefined, reader.key, 403],
  ])('one that is %s is not, and its connection closes', async (_claim, decision, key, status) => {
    await using api = await openApp(decision === undefined ? {} : { decide: () => decision })
    const { responses, isClosed } = await exchange(api.url, [head(key)])
    expect(responses.map((response) => response.status)).toEqual([status])
    expect(responses[0]?.headers.get('connection')).toBe('close')
    expect(isClosed).toBe(true)
  })
})
