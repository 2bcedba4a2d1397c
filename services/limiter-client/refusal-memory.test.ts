import { expect, test } from 'vitest'
import { type Check, domainName } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import { createRefusalMemory } from './refusal-memory.ts'

const quota = { limit: 60, remaining: 0, resetAfterMs: 12_000, refillTokens: 5, refillPeriodMs: 1_000 }
const counted = { basis: 'bucket', policy: policyName('free'), quota } as const
const refusedFor = (retryAfterMs: number): Decision => ({ verdict: 'deny', ...counted, retryAfterMs })

const check = (client: string, cost = 1): Check => ({
  domain: domainName('api'),
  attributes: new Map([['client', client]]),
  cost,
})

const open = () => {
  let nowUs = 0
  const memory = createRefusalMemory({ monotonicUs: () => nowUs })
  return {
    ...memory,
    at: (ms: number) => {
      nowUs = ms * 1_000
    },
  }
}

test('the same question is refused until its wait is over, and told what is left of the wait', () => {
  const { recall, learn, at } = open()
  learn(check('a'), refusedFor(200))
  at(150)
  expect(recall(check('a'))).toEqual({ ...refusedFor(50), quota: { ...quota, resetAfterMs: 11_850 } })
  at(200)
  expect(recall(check('a'))).toBeUndefined()
})

test('none is believed for more than a second, however long its wait', () => {
  const { recall, learn, at } = open()
  learn(check('a'), refusedFor(60_000))
  at(999)
  expect(recall(check('a'))).toMatchObject({ retryAfterMs: 59_001 })
  at(1_000)
  expect(recall(check('a'))).toBeUndefined()
})

test('other clients and other costs are other questions', () => {
  const { recall, learn } = open()
  learn(check('a', 2), refusedFor(200))
  expect(recall(check('a', 2))).toBeDefined()
  expect(recall(check('a', 1))).toBeUndefined()
  expect(recall(check('b', 2))).toBeUndefined()
})

test.each([
  ['a pass', { verdict: 'allow', ...counted }],
  ['a cost that no wait cures', { verdict: 'deny', basis: 'never_satisfiable', policy: policyName('free') }],
  ['a store that is away', { verdict: 'deny', basis: 'store_unavailable', policy: policyName('free') }],
] as const)('%s is not remembered', (_, decision) => {
  const { recall, learn } = open()
  learn(check('a'), decision)
  expect(recall(check('a'))).toBeUndefined()
})
