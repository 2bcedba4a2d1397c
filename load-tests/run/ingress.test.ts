import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { startIngress } from './ingress.ts'
import { plants } from './plants.ts'

const startTarget = async (answer: RequestListener) => {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const named =
  (name: string): RequestListener =>
  (_, response) =>
    response.writeHead(429, { 'retry-after': '9', 'ratelimit-remaining': '0', 'x-name': name }).end(name)

const get = async (url: string) => {
  const answer = await fetch(url, { headers: { connection: 'close' } })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('each API is asked in turn, and one that was taken out no more', async () => {
  await using one = await startTarget(named('one'))
  await using other = await startTarget(named('other'))
  await using ingress = await startIngress()
  ingress.setTargets([one.port, other.port])
  const both = [await get(ingress.url), await get(ingress.url)].map(({ text }) => text)
  expect(both.toSorted()).toEqual(['one', 'other'])
  ingress.setTargets([other.port])
  expect([await get(ingress.url), await get(ingress.url)].map(({ text }) => text)).toEqual(['other', 'other'])
})

test('where nobody listens the answer is 502, and 503 where there is nobody', async () => {
  await using ingress = await startIngress()
  expect((await get(ingress.url)).status).toBe(503)
  const gone = await startTarget(named('gone'))
  await gone[Symbol.asyncDispose]()
  ingress.setTargets([gone.port])
  expect((await get(ingress.url)).status).toBe(502)
})

test.each([
  ['early-retry-after', '3', '0'],
  ['late-retry-after', '12', '0'],
  ['bare-refusals', null, '0'],
  ['no-headers', null, null],
] as const)('planted %s changes the headers on their way', async (plant, retryAfter, remaining) => {
  await using target = await startTarget(named('target'))
  await using ingress = await startIngress(plants[plant].tamper)
  ingress.setTargets([target.port])
  const { status, headers } = await get(ingress.url)
  expect([status, headers.get('retry-after'), headers.get('ratelimit-remaining')]).toEqual([429, retryAfter, remaining])
  expect(headers.get('x-name')).toBe('target')
})

test('a narrow door refuses who comes while as many as it lets through are under way', async () => {
  const held: (() => void)[] = []
  const arrived = Promise.withResolvers<void>()
  await using target = await startTarget((_, response) => {
    held.push(() => response.end())
    if (held.length === 3) arrived.resolve()
  })
  await using ingress = await startIngress({ maxUnderWay: 3 })
  ingress.setTargets([target.port])
  const through = [get(ingress.url), get(ingress.url), get(ingress.url)]
  await arrived.promise
  expect((await get(ingress.url)).status).toBe(503)
  for (const release of held) release()
  expect((await Promise.all(through)).map(({ status }) => status)).toEqual([200, 200, 200])
})
