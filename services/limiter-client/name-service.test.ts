import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Check, domainName } from '../contract/check.ts'
import { freePort } from '../platform/service.fixture.ts'
import type { Asked } from './channel/question.ts'
import { startLimiterProcess } from './limiter-process.fixture.ts'
import { openNameServer } from './name-server.fixture.ts'
import { createStreamTransport } from './replicas/stream-transport.ts'
import { until } from './until.fixture.ts'

const NAME = 'limiter.weir.test'
/** A busy machine takes its time; the test says how long it took. */
const PATIENCE_MS = 30_000

test('limiters come and go behind a name, and the name service fails: no check does', {
  timeout: 180_000,
}, async () => {
  using server = await openNameServer(NAME)
  const port = await freePort()
  await using first = await startLimiterProcess(port, { host: '127.0.0.1' })
  server.standFor('127.0.0.1')
  const connected = new Map<string, number>()
  let askedAgain = 0
  await using transport = createStreamTransport({
    address: `dns:///${NAME}:${port}`,
    names: server.names,
    observe: {
      connected: (address) => connected.set(address, performance.now()),
      lost: () => {},
      askedAgain: () => {
        askedAgain += 1
      },
    },
  })
  const outcomes: Asked[] = []
  let isDone = false
  const load = (async () => {
    for (let round = 0; !isDone; round += 1) {
      const checks = Array.from({ length: 10 }, (_, index): Check => {
        return { domain: domainName('api'), attributes: new Map([['client', `user:${round % 50}.${index}`]]), cost: 1 }
      })
      outcomes.push(...(await Promise.all(checks.map((check) => transport.ask(check, 10_000)))))
      await delay(10)
    }
  })()
  const untilReady = (ready: number) =>
    until(
      () => transport.count(),
      (count) => count.ready === ready && count.connecting + count.away + count.slow === 0,
      PATIENCE_MS,
    )
  await untilReady(1)

  await using second = await startLimiterProcess(port, { host: '127.0.0.2' })
  const joinedMs = performance.now()
  server.standFor('127.0.0.1', '127.0.0.2')
  await untilReady(2)
  const usedAfterMs = (connected.get('127.0.0.2') ?? 0) - joinedMs
  console.info(`used ${Math.round(usedAfterMs)} ms after the name stood for it, with a TTL of 1 s`)

  // A Deployment that is rolled: the pod leaves the name, then drains.
  server.standFor('127.0.0.2')
  await untilReady(1)
  await first.terminate()

  for (const how of ['silence', 'refused'] as const) {
    const before = server.asked()
    server.fail(how)
    await until(server.asked, (asked) => asked > before + 1, PATIENCE_MS)
    expect(transport.count()).toMatchObject({ ready: 1, away: 0 })
  }
  await using _third = await startLimiterProcess(port, { host: '127.0.0.3' })
  server.standFor('127.0.0.2', '127.0.0.3')
  await untilReady(2)

  // Killed, and only later gone from the name.
  await second.kill()
  await until(
    () => transport.count(),
    ({ ready }) => ready === 1,
    PATIENCE_MS,
  )
  server.standFor('127.0.0.3')
  await untilReady(1)
  isDone = true
  await load
  console.info(`${outcomes.length} checks, ${askedAgain} asked once more`)
  expect(outcomes.filter(({ ok }) => !ok)).toEqual([])
  expect(outcomes.length).toBeGreaterThan(100)
})
