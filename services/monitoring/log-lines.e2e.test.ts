import { expect, test } from 'vitest'
import { redisCli, startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { until } from '../platform/service.fixture.ts'
import { openInstallation, type Process } from './installation.fixture.ts'

type Line = Readonly<Record<string, unknown>> & { readonly event?: string }

const linesOf = ({ service }: Process): readonly Line[] =>
  service
    .output()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const times = (process: Process, event: string) => linesOf(process).filter((line) => line.event === event).length

test('each change of state is one line: the store away and back, the limiter away and back, refusals now and then, the drain', async () => {
  await using redis = await startRedis()
  const redisPid = Number(/process_id:(\d+)/.exec(redisCli(redis.port, 'INFO', 'server'))?.[1])
  // A machine that is busy is no outage.
  await using installation = await openInstallation({
    limiters: 1,
    store: `redis://127.0.0.1:${redis.port}`,
    limiterSettings: { LIMITER_STORE_DEADLINE_MS: '400' },
    apiSettings: { API_LIMITER_DEADLINE_MS: '1000' },
  })
  const { api } = installation
  const [limiter] = installation.limiters
  if (limiter === undefined) throw new Error('no limiter')
  const limiterPid = limiter.service.process.pid ?? 0
  let refused = 0
  const askUntil = (condition: () => boolean) =>
    until(async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => installation.get('/v1/orders')))
      refused += answers.filter(({ status }) => status === 429).length
      return condition()
    }, 60_000)

  await askUntil(() => times(limiter, 'check.refused') > 0 && refused > 100)
  expect(times(limiter, 'check.refused')).toBeLessThan(refused / 10)

  process.kill(redisPid, 'SIGSTOP')
  await askUntil(() => times(limiter, 'store.away') > 0)
  process.kill(redisPid, 'SIGCONT')
  await askUntil(() => times(limiter, 'store.back') > 0)
  expect([times(limiter, 'store.away'), times(limiter, 'store.back')]).toEqual([1, 1])

  process.kill(limiterPid, 'SIGSTOP')
  await askUntil(() => times(api, 'limiter.away') > 0)
  process.kill(limiterPid, 'SIGCONT')
  await askUntil(() => times(api, 'limiter.back') > 0)
  expect([times(api, 'limiter.away'), times(api, 'limiter.back')]).toEqual([1, 1])

  for (const process of [api, limiter]) {
    expect(await process.service.stop()).toMatchObject({ code: 0 })
    expect(times(process, 'draining')).toBe(1)
    // Every line, also the first and the last, is JSON and says when, how bad and who.
    for (const line of linesOf(process))
      expect(line).toMatchObject({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        level: expect.any(Number),
        service: expect.stringMatching(/^(?:api|limiter)$/),
        msg: expect.any(String),
      })
  }
}, 300_000)
