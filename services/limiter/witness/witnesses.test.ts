import { describe, expect, test } from 'vitest'
import type { Rule } from '../../bucket/rule.ts'
import type { Result } from './judge-result.ts'
import { type Faults, isWrong, runSchedule, runSchedules } from './schedule.fixture.ts'

describe('while the store forgets nothing', () => {
  test('witnesses change no decision, with two generations of the policies at once: in 3,000 random schedules', () => {
    const found = runSchedules(3_000)
    expect(found).toMatchObject({ wrongLosses: 0, wrongVetoes: 0, wrongRefusals: 0 })
    expect(found.learned).toBeGreaterThan(100_000)
    expect(found.refusals).toBeGreaterThan(1_000)
    expect(found.testified).toBeGreaterThan(1_000)
  }, 180_000)

  const oneRule = (_: Rule) => 1
  const oneEpoch = (result: Result) => ({ ...result, before: result.before.map((told) => ({ ...told, epoch: 0 })) })
  const noRule = (result: Result) => ({ ...result, before: result.before.map((told) => ({ ...told, ruleHash: 1 })) })
  const noTime = (result: Result) => ({
    ...result,
    before: result.before.map((told) => ({ ...told, bucket: { ...told.bucket, atUs: 0 } })),
  })
  test.each<readonly [string, Faults]>([
    ['a reset that deletes', { store: 'reset deletes' }],
    ['a bucket that expires before it is full', { store: 'expires early' }],
    ['a refund', { store: 'refunds' }],
    ['another rule that begins no epoch', { store: 'another rule begins no epoch' }],
    ['another rule that forgets how long the last one kept the bucket', { store: 'forgets what the last rule kept' }],
    ['an epoch adopted from a witness that has refilled', { store: 'adopts an epoch of a witness that says nothing' }],
    ['a witness that is compared whatever its epoch', { tamperResult: oneEpoch }],
    ['a witness that is compared whatever its rule', { ruleHash: oneRule, tamperResult: noRule }],
    [
      'a witness whose age counts from the reply',
      { tamperSpan: ({ receivedUs }) => ({ sentUs: receivedUs, receivedUs }) },
    ],
    ['a witness that does not refill', { tamperSpan: () => ({ sentUs: 0, receivedUs: 0 }), tamperResult: noTime }],
    ['clocks that differ by more than is allowed for', { drift: 0.005 }],
    ['calls that overtake each other', { callsAtOnce: 3 }],
  ])(
    'planted, %s is found',
    (_, faults) => {
      const foundBy = Array.from({ length: 10_000 }, (_, index) => index + 1).find((seed) =>
        isWrong(runSchedule(seed, faults)),
      )
      expect(foundBy).toBeDefined()
    },
    60_000,
  )
})
