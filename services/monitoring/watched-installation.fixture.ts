import { startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { openInstallation } from './installation.fixture.ts'
import { startPrometheus } from './prometheus.fixture.ts'
import { startTraffic } from './traffic.fixture.ts'

/** Two limiters on a Redis and an API, with traffic, and a Prometheus that scrapes them. */
export const openWatchedInstallation = async () => {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis())
  const installation = stack.use(await openInstallation({ limiters: 2, store: `redis://127.0.0.1:${redis.port}` }))
  const { limiters, api } = installation
  const prometheus = stack.use(
    await startPrometheus({
      jobs: { limiter: limiters.map(({ adminPort }) => adminPort), api: [api.adminPort] },
    }),
  )
  stack.use(startTraffic(installation))
  const kept = stack.move()
  return { redis, installation, prometheus, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
}
