import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { domainName } from '../contract/check.ts'
import { freePort } from '../platform/service.fixture.ts'
import type { FallbackPlan } from './fallback.ts'
import { rateLimit } from './fastify/fastify-plugin.ts'
import { rule, startLimiterProcess } from './limiter-process.fixture.ts'
import { openLimiterClient } from './open-limiter-client.ts'
import { allow, openScriptedLimiter } from './scripted-limiter.fixture.ts'
import { openTcpProxy } from './tcp-proxy.fixture.ts'
import { until } from './until.fixture.ts'

/** Slower than this is a hang, even on a machine that has other things to do; the deadline itself is 50 ms. */
const HANG_MS = 5_000

type Seen = { readonly status: number; readonly ms: number; readonly policy: string | undefined }

test('a limiter that takes less than half of a long deadline is waited for', async () => {
  await using limiter = await openScriptedLimiter(() => delay(1_500, allow))
  await using client = openClient(limiter.address, { kind: 'deny' }, 10_000)
  const gate = await client.shouldAllow({
    domain: domainName('api'),
    attributes: new Map([['client', 'patient']]),
    cost: 1,
  })
  expect([gate.source, limiter.state.asked]).toEqual(['limiter', 1])
})

const openClient = (address: string, fallback: FallbackPlan, deadlineMs = 50) =>
  openLimiterClient({ address, fallback, deadlineMs })

/** An API with the gate in front of it, on a real socket. */
const openApi = async (address: string, deadlineMs?: number) => {
  const configured = { capacityTokens: 50, refillTokens: 10, periodS: 1 }
  const limiter = openClient(address, { kind: 'local', rule: configured }, deadlineMs)
  const app = Fastify()
  await app.register(rateLimit, {
    limiter,
    domain: 'api',
    attributes: ({ headers }) => ({ client: String(headers['x-client']) }),
  })
  app.get('/orders', async () => ({ data: [] }))
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const seen: Seen[] = []

  const get = (client: string) =>
    new Promise<Seen>((resolve, reject) => {
      const startMs = performance.now()
      request({ host: '127.0.0.1', port, path: '/orders', agent, headers: { 'x-client': client } }, (response) => {
        response.resume().once('end', () => {
          const policy = /^"([^"]+)"/.exec(String(response.headers['ratelimit']))?.[1]
          const one = { status: response.statusCode ?? 0, ms: performance.now() - startMs, policy }
          seen.push(one)
          resolve(one)
        })
      })
        .once('error', reject)
        .end()
    })

  return {
    get,
    seen,
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      await app.close()
      await limiter[Symbol.asyncDispose]()
    },
  }
}

type Api = Awaited<ReturnType<typeof openApi>>

/** Clients that keep well within `perS` requests a second each, from now until they are called off. */
const startPoliteClients = (api: Api, { clients, perS }: { readonly clients: number; readonly perS: number }) => {
  const stop = new AbortController()
  const walk = async (index: number) => {
    while (!stop.signal.aborted) {
      await api.get(`user:${index}`)
      await delay(1_000 / perS)
    }
  }
  const walks = Promise.all(Array.from({ length: clients }, (_, index) => walk(index)))
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await walks
    },
  }
}

const expectAllServed = ({ seen }: Api) => {
  expect(seen.filter(({ status }) => status !== 200)).toEqual([])
  expect(Math.max(...seen.map(({ ms }) => ms))).toBeLessThan(HANG_MS)
}

/** On a machine that has nothing else to do it takes one second, or two. */
const untilLimiterDecides = async (api: Api, limitMs = 15_000) => {
  let probes = 0
  await until(
    async () => {
      probes += 1
      // Another one each time: so many looks are beyond one client's allowance.
      return (await api.get(`user:probe.${probes}`)).policy
    },
    (policy) => policy === 'per-client',
    limitMs,
  )
}

describe('every client within its allowance is served, without a hang', { timeout: 90_000 }, () => {
  test('when no limiter is there from the start; soon after one is, it decides', async () => {
    const port = await freePort()
    await using api = await openApi(`127.0.0.1:${port}`)
    {
      await using _polite = startPoliteClients(api, { clients: 20, perS: 8 })
      await delay(2_000)
    }
    expect(new Set(api.seen.map(({ policy }) => policy))).toEqual(new Set(['local-fallback']))
    await using _limiter = await startLimiterProcess(port)
    await untilLimiterDecides(api)
    expectAllServed(api)
  })

  test('when the limiter is killed under load, and it decides again soon after it is back', async () => {
    const port = await freePort()
    await using first = await startLimiterProcess(port)
    await using api = await openApi(`127.0.0.1:${port}`)
    await untilLimiterDecides(api)
    // As fast as the limiter allows, which is more than the fallback is configured for: it has learnt what it may.
    await using _polite = startPoliteClients(api, { clients: 10, perS: rule.refillTokens * 0.8 })
    await delay(500)
    await first.kill()
    await delay(2_000)
    await using _second = await startLimiterProcess(port)
    await untilLimiterDecides(api)
    await delay(300)
    expectAllServed(api)
    expect(new Set(api.seen.map(({ policy }) => policy))).toEqual(new Set(['per-client', 'local-fallback']))
  })

  test('when the limiter is stopped, accepts and says nothing, and it decides again soon after it goes on', async () => {
    const port = await freePort()
    await using limiter = await startLimiterProcess(port)
    await using api = await openApi(`127.0.0.1:${port}`)
    await untilLimiterDecides(api)
    await using _polite = startPoliteClients(api, { clients: 10, perS: 20 })
    await delay(300)
    limiter.signal('SIGSTOP')
    await delay(3_000)
    limiter.signal('SIGCONT')
    await untilLimiterDecides(api)
    expectAllServed(api)
  })

  test('when what is there accepts connections and never speaks, and a limiter takes its place', async () => {
    const host = createServer(() => {})
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    const bound = host.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0
    await using api = await openApi(`127.0.0.1:${port}`)
    await using _polite = startPoliteClients(api, { clients: 10, perS: 8 })
    await delay(800)
    host.close()
    await using _limiter = await startLimiterProcess(port)
    await untilLimiterDecides(api)
    expectAllServed(api)
  })

  test('when the connection is lost and nobody is told: soon there is a new one', async () => {
    const port = await freePort()
    await using _limiter = await startLimiterProcess(port)
    await using proxy = await openTcpProxy(port)
    await using api = await openApi(`127.0.0.1:${proxy.port}`)
    await untilLimiterDecides(api)
    await using _polite = startPoliteClients(api, { clients: 10, perS: 8 })
    await delay(300)
    const lostMs = performance.now()
    proxy.loseConnections()
    await until(
      () => api.seen.at(-1)?.policy,
      (policy) => policy === 'local-fallback',
    )
    await untilLimiterDecides(api)
    console.info(`the limiter decided again ${Math.round(performance.now() - lostMs)} ms after the connection was lost`)
    expectAllServed(api)
  })

  test('when every answer comes too late', async () => {
    await using limiter = await openScriptedLimiter(() => delay(1_500, allow))
    await using api = await openApi(limiter.address, 500)
    {
      await using _polite = startPoliteClients(api, { clients: 20, perS: 8 })
      await delay(4_000)
    }
    expect(new Set(api.seen.map(({ policy }) => policy))).toEqual(new Set(['local-fallback']))
    limiter.state.script = () => allow
    await untilLimiterDecides(api)
    expectAllServed(api)
  })
})

test('an abuser whom the limiter has emptied gains nothing when it goes away', { timeout: 60_000 }, async () => {
  const port = await freePort()
  await using limiter = await startLimiterProcess(port)
  // On a busy machine 50 ms are not always enough for 400 at once.
  await using api = await openApi(`127.0.0.1:${port}`, 2_000)
  await untilLimiterDecides(api)
  const flood = async () => {
    const replies = await Promise.all(Array.from({ length: 400 }, () => api.get('user:abuser')))
    const served = replies.filter(({ status }) => status === 200).length
    expect(replies.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
    return served
  }
  const startMs = performance.now()
  const withLimiter = await flood()
  expect(withLimiter).toBeGreaterThanOrEqual(rule.capacityTokens)
  await limiter.kill()
  const without = await flood()
  const elapsedS = (performance.now() - startMs) / 1_000
  expect(withLimiter + without).toBeLessThanOrEqual(rule.capacityTokens + rule.refillTokens * elapsedS + 1)
})

test('answers that arrived while this process stood still are used: none is taken for a timeout', {
  timeout: 60_000,
}, async () => {
  const port = await freePort()
  await using _limiter = await startLimiterProcess(port)
  await using client = openClient(`127.0.0.1:${port}`, { kind: 'deny' })
  const ask = (name: string) =>
    client.shouldAllow({ domain: domainName('api'), attributes: new Map([['client', name]]), cost: 1 })
  await until(
    async () => (await ask('user:ada')).source,
    (source) => source === 'limiter',
  )
  let late = 0
  for (let round = 0; round < 10; round += 1) {
    const asked = Array.from({ length: 10 }, (_, index) => ask(`user:${round}.${index}`))
    // The questions leave, and while their answers come, the process is busy beyond the deadline.
    await nextTurn()
    await nextTurn()
    const endMs = performance.now() + 300
    while (performance.now() < endMs);
    late += (await Promise.all(asked)).filter(({ source }) => source === 'fallback').length
  }
  // A busy machine may keep the limiter from answering within a round; if its answers were not read first, all would be late.
  expect(late).toBeLessThan(50)
})
