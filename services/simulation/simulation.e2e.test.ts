import { expect, test } from 'vitest'
import { runSchedule } from './schedule.ts'
import { services, simulate } from './simulate.fixture.ts'

test('20,000 schedules of faults break no promise', { timeout: 1_800_000 }, async () => {
  const { code, output } = await simulate(services, 20_000, 1)
  process.stdout.write(output)
  expect(code, output).toBe(0)
})

test('a seed always gives the same schedule', async () => {
  for (let seed = 1; seed <= 50; seed += 1)
    expect((await runSchedule(seed)).traceHash, `seed ${seed}`).toBe((await runSchedule(seed)).traceHash)
})
