import { expect, test } from 'vitest'
import { makeRule } from '../../bucket/rule.ts'
import { ruleOf, unitOf } from './unit.ts'

test('so many requests a unit are a bucket of so many that fills in that unit', () => {
  expect(ruleOf(20, 'SECOND')).toEqual({ capacityTokens: 20, refillTokens: 20, periodS: 1 })
  expect(ruleOf(100, 'WEEK')).toEqual({ capacityTokens: 100, refillTokens: 1, periodS: 6_048 })
})

test('what a bucket cannot be keeps its rate and has the capacity of the longest time', () => {
  expect(ruleOf(365_000, 'YEAR')).toEqual({ capacityTokens: 30_000, refillTokens: 5, periodS: 432 })
  expect(ruleOf(1, 'YEAR')).toEqual({ capacityTokens: 1, refillTokens: 1, periodS: 2_592_000 })
  expect(ruleOf(4_000_000_000, 'SECOND')).toEqual({ capacityTokens: 1_000_000, refillTokens: 1_000_000, periodS: 1 })
  expect(ruleOf(0, 'MINUTE').capacityTokens).toBe(0)
})

test('every number that Envoy can send is a rule that can be counted', () => {
  for (const unit of ['SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'] as const)
    for (const requests of [1, 2, 7, 11, 12, 13, 1_000, 999_999, 86_400_001, 4_294_967_295]) {
      const { capacityTokens, refillTokens, periodS } = ruleOf(requests, unit)
      expect(makeRule(capacityTokens, refillTokens, periodS), `${requests} a ${unit}`).toMatchObject({ ok: true })
    }
})

test('the unit told is the shortest in which a bucket fills', () => {
  expect([1, 1_000, 1_001, 60_000, 3_600_000, 86_400_001, 604_800_001].map(unitOf)).toEqual([
    'SECOND',
    'SECOND',
    'MINUTE',
    'MINUTE',
    'HOUR',
    'WEEK',
    'MONTH',
  ])
})
