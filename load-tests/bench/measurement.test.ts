import { expect, test } from 'vitest'
import { type Measurement, summarize } from './measurement.ts'

const round: Measurement = {
  part: 'checks',
  load: '64 at once',
  way: 'Weir, stream',
  checksPerSecond: 1_000,
  clientUs: 10,
  limiterUs: 20,
  redisUs: 5,
  busiestRedisUs: 5,
  redisCommands: 2,
  othersPart: 0,
  p50Us: 100,
  p99Us: 300,
  p999Us: 400,
  refused: 0,
  local: 0,
  failed: 0,
}

test('a row is the medians of its rounds; what must not happen is added up', () => {
  const rows = summarize([
    { ...round, clientUs: 10, limiterUs: 90, p99Us: 1, local: 2 },
    { ...round, way: 'bare GET by ioredis', clientUs: 7 },
    { ...round, clientUs: 50, limiterUs: 20, p99Us: 3, failed: 1 },
    { ...round, clientUs: 30, limiterUs: 30, p99Us: 2, refused: 4, local: 1 },
  ])
  expect(rows.map(({ way, rounds }) => [way, rounds])).toEqual([
    ['Weir, stream', 3],
    ['bare GET by ioredis', 1],
  ])
  // Of the total the median too: it is none of the sum of medians.
  expect(rows[0]).toMatchObject({ clientUs: 30, limiterUs: 30, totalUs: 75, p99Us: 2, local: 3, failed: 1, refused: 4 })
})

test('without a server between there is none of its time', () => {
  const { limiterUs: _, ...without } = round
  const [row] = summarize([without, without])
  expect(row).not.toHaveProperty('limiterUs')
  expect(row?.totalUs).toBe(15)
})

test('one way under two loads is two rows', () => {
  expect(summarize([round, { ...round, load: '1 at once' }])).toHaveLength(2)
})
