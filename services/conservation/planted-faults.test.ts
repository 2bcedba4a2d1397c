import { describe, expect, test } from 'vitest'
import type { Rule } from '../bucket/rule.ts'
import { judge } from './judge.ts'
import { createBucket, type Decide, overloadDemand, record } from './recording.fixture.ts'

const rule: Rule = { capacityTokens: 50, refillTokens: 500, periodS: 1 }
const faultless = { overTokens: 0, underTokens: 0 }
const RECORDINGS = 100
const FAULT_AT_US = 200_000

/** 10,000 calls a second, 20 times the refill: on average `latencyMs` × 5 others are under way with each. */
const recording = (seed: number, latencyMs: number, decide: Decide) =>
  record(overloadDemand({ rule, seed, calls: 4_000, overload: 20, latencyUs: latencyMs * 1_000 }), decide)

type Damage = () => Decide

/** Runs `fault` once, at the first call from then on for which it says that it happened. */
const once = (fault: (nowUs: number, cost: number) => boolean) => {
  let happened = false
  return (nowUs: number, cost: number) => {
    if (happened || nowUs < FAULT_AT_US) return false
    happened = fault(nowUs, cost)
    return happened
  }
}

const grantsOneMore: Damage = () => {
  const { decide } = createBucket(rule)
  const extra = once(() => true)
  return (nowUs, cost) => decide(nowUs, cost) || extra(nowUs, cost)
}

const losesItsState: Damage = () => {
  const { decide, become } = createBucket(rule)
  const loss = once(() => {
    become(undefined)
    return true
  })
  return (nowUs, cost) => {
    loss(nowUs, cost)
    return decide(nowUs, cost)
  }
}

/** Two limiters that read, count and write in three steps: a call less than 20 µs after a grant does not see it, and overwrites it. */
const readsBeforeItWrites: Damage = () => {
  const { decide, state, become } = createBucket(rule)
  let before = state()
  let grantedUs = Number.NEGATIVE_INFINITY
  return (nowUs, cost) => {
    const current = state()
    const seen = nowUs - grantedUs < 20 ? before : current
    become(seen)
    if (!decide(nowUs, cost)) {
      become(current)
      return false
    }
    before = seen
    grantedUs = nowUs
    return true
  }
}

const burnsAToken: Damage = () => {
  const { decide } = createBucket(rule)
  const burn = once((nowUs) => decide(nowUs, 1))
  return (nowUs, cost) => {
    burn(nowUs, cost)
    return decide(nowUs, cost)
  }
}

const getsStuck: Damage = () => {
  const { decide } = createBucket(rule)
  return (nowUs, cost) => nowUs < FAULT_AT_US && decide(nowUs, cost)
}

const refusesWhatItHolds: Damage = () => {
  const { decide, state, become } = createBucket(rule)
  const refuse = once(() => true)
  return (nowUs, cost) => {
    const before = state()
    if (!decide(nowUs, cost)) return false
    if (!refuse(nowUs, cost)) return true
    become(before)
    return false
  }
}

const caughtOf = (damage: Damage, latencyMs: number) => {
  let over = 0
  let under = 0
  for (let seed = 0; seed < RECORDINGS; seed += 1) {
    const calls = recording(seed, latencyMs, damage())
    const { worst, unexplained } = judge({ rule, calls, faultBound: faultless })
    if ((worst?.excessTokens ?? 0) > 0) over += 1
    if (unexplained.count > 0) under += 1
  }
  return { over, under }
}

// The rate at which a fault is caught falls with the number of calls that are under way with the one it struck: their order is anybody's guess.
describe(`a fault is caught, of ${RECORDINGS} recordings`, () => {
  test.each([
    { fault: 'one token too many', damage: grantsOneMore, latencyMs: 0, least: 100 },
    { fault: 'one token too many', damage: grantsOneMore, latencyMs: 5, least: 97 },
    { fault: 'a lost state, so a second full bucket', damage: losesItsState, latencyMs: 20, least: 100 },
    { fault: 'two calls counted as one', damage: readsBeforeItWrites, latencyMs: 20, least: 100 },
  ])('over: $fault, calls up to $latencyMs ms long, in at least $least', ({ damage, latencyMs, least }) => {
    const { over, under } = caughtOf(damage, latencyMs)
    expect(over).toBeGreaterThanOrEqual(least)
    expect(under).toBe(0)
  })

  test.each([
    { fault: 'a token burnt', damage: burnsAToken, latencyMs: 0, least: 100 },
    { fault: 'a token burnt', damage: burnsAToken, latencyMs: 5, least: 85 },
    { fault: 'a bucket that is stuck', damage: getsStuck, latencyMs: 20, least: 100 },
    { fault: 'one refusal with a token there', damage: refusesWhatItHolds, latencyMs: 0, least: 90 },
  ])('under: $fault, calls up to $latencyMs ms long, in at least $least', ({ damage, latencyMs, least }) => {
    const { over, under } = caughtOf(damage, latencyMs)
    expect(under).toBeGreaterThanOrEqual(least)
    expect(over).toBe(0)
  })
})
