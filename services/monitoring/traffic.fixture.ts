import { Client, credentials } from '@grpc/grpc-js'
import { type RedisNode, redisCli } from '../limiter/redis/redis-server.fixture.ts'
import { until } from '../platform/service.fixture.ts'
import { rateLimitService } from '../wire/protocol.ts'
import type { openInstallation } from './installation.fixture.ts'

type Installation = Awaited<ReturnType<typeof openInstallation>>

/** Callers of the API, and of each limiter: anonymous and with a plan, most of them greedy. Ends with its disposal. */
export const startTraffic = (installation: Installation): AsyncDisposable => {
  const stopped = new AbortController()
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
  const callApi = async () => {
    while (!stopped.signal.aborted) {
      await installation.get('/v1/orders').catch(() => {})
      await pause()
    }
  }
  const { path, requestSerialize, responseDeserialize } = rateLimitService.ShouldAllow
  const callLimiter = async (port: number, client: string) => {
    const connection = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    const ask = (tenant: Readonly<Record<string, string>>) =>
      new Promise<void>((resolve) => {
        const request = { domain: 'api', attributes: { client, plan: 'free', ...tenant } }
        const deadline = Date.now() + 2_000
        connection.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, () => resolve())
      })
    while (!stopped.signal.aborted) {
      await Promise.all([ask({}), ask({}), ask({ tenant: 'acme' }), ask({ tenant: 'acme' })])
      await pause()
    }
    connection.close()
  }
  const callers = [
    callApi(),
    ...installation.limiters.flatMap(({ port }) =>
      ['user:greedy', 'user:polite'].map((name) => callLimiter(port, name)),
    ),
  ]
  return {
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await Promise.all(callers)
    },
  }
}

/** The faults that dashboards and alerts speak of: a store that stands still, a limiter that is gone for the API, a wrong policy file. */
export const playFaults = async ({ limiters, api }: Installation, redis: RedisNode) => {
  const shown = async (page: (path: string) => Promise<string>, pattern: RegExp) =>
    until(async () => pattern.test(await page('/metrics')), 60_000)
  const [first] = limiters
  if (first === undefined) throw new Error('no limiter')
  await shown(first.page, /^weir_decisions_total\{.*verdict="deny",basis="bucket"\} [1-9]/m)
  redisCli(redis.port, 'CLIENT', 'PAUSE', '4000', 'ALL')
  await shown(first.page, /^weir_decisions_total\{.*basis="share"\} [1-9]/m)
  await shown(
    first.page,
    /^weir_store_duration_seconds_count\{result="failed"\} [1-9]|^weir_store_shards_given_up [1-9]/m,
  )
  await shown(first.page, /^weir_store_shards_given_up 0$/m)
  first.service.process.kill('SIGSTOP')
  await shown(api.page, /^weir_api_fallback_decisions_total\{.*\} [1-9]/m)
  first.service.process.kill('SIGCONT')
}
