import { test } from 'vitest'
import { allowed, exchange, openApp, writer } from './app.fixture.ts'
const get = (target: string, ...lines: readonly string[]) => `${[`GET ${target} HTTP/1.1`, 'Host: test', ...lines].join('\r\n')}\r\n\r\n`
const post = (...lines: readonly string[]) => ['POST /v1/notes HTTP/1.1', 'Host: test', `Authorization: Bearer ${writer.key}`, ...lines].join('\r\n')
const chunked = post('Content-Type: application/json', 'Transfer-Encoding: chunked')
const m: Record<string,string> = {
 get: get('/v1/notes'), zz: get('/v1/notes/%zz'), getexp: get('/v1/notes', 'Expect: 100-continue'), getch: get('/v1/notes', 'Transfer-Encoding: chunked'),
 post: `${post('Content-Type: application/json', 'Content-Length: 2')}\r\n\r\n{}`,
 postexp: `${post('Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue')}\r\n\r\n{}`,
 ch: `${chunked}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, badch: `${chunked}\r\n\r\n2\r\n{}zz`, anon: 'POST /v1/notes HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc',
 connect: 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', upg: 'GET /v1/notes HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n', garb: 'GARBAGE\r\n\r\n', crlf: '\r\n' }
test('slow', { timeout: 500_000 }, async () => {
  await using api = await openApp({ decide: () => new Promise((resolve) => setTimeout(resolve, 2, allowed)) })
  for (const [a, x] of Object.entries(m)) for (const [b, y] of Object.entries(m)) {
    const t = performance.now()
    const { responses } = await exchange(api.url, [x, y, get('/', 'Connection: close')])
    const d = performance.now() - t
    if (d > 300) console.log(a, b, Math.round(d), responses.map((r) => r.status).join())
  }
})
