import { expect, test } from 'vitest'
import { createTopOffenders } from './top-offenders.ts'

const MINUTE_US = 60_000_000

test('offenders are told by policy and overall, most refused first', () => {
  const top = createTopOffenders(0)
  for (let time = 0; time < 3; time += 1) top.refused('api', 'writes', 'user:a', 0)
  for (let time = 0; time < 2; time += 1) top.refused('api', 'reads', 'user:a', 0)
  for (let time = 0; time < 4; time += 1) top.refused('api', 'reads', 'user:b', 0)
  const page = top.read(MINUTE_US)
  expect(page.overall).toEqual([
    { subject: 'user:a', refusedAtLeast: 5, refusedAtMost: 5 },
    { subject: 'user:b', refusedAtLeast: 4, refusedAtMost: 4 },
  ])
  expect(page.policies.map(({ policy, offenders }) => [policy, ...offenders.map(({ subject }) => subject)])).toEqual([
    ['writes', 'user:a'],
    ['reads', 'user:b', 'user:a'],
  ])
})

test('what is older than ten minutes is forgotten, and what is younger than five is not', () => {
  const top = createTopOffenders(0)
  top.refused('api', 'reads', 'user:early', 1 * MINUTE_US)
  top.refused('api', 'reads', 'user:later', 6 * MINUTE_US)
  const subjects = (nowUs: number) => top.read(nowUs).overall.map(({ subject }) => subject)
  expect(subjects(6 * MINUTE_US)).toEqual(['user:early', 'user:later'])
  expect(subjects(10 * MINUTE_US)).toEqual(['user:later'])
  expect(subjects(25 * MINUTE_US)).toEqual([])
})

test('memory stays flat over a million subjects', () => {
  const top = createTopOffenders(0)
  const refuse = (from: number, to: number) => {
    for (let subject = from; subject < to; subject += 1) top.refused('api', 'reads', `user:${subject}`, 0)
  }
  refuse(0, 100_000)
  const before = process.memoryUsage().heapUsed
  refuse(100_000, 1_000_000)
  // Garbage is counted too; a million remembered subjects would be 100 MB.
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(60)
  expect(top.read(0).policies[0]?.offenders).toHaveLength(20)
})
