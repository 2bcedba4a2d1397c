import { expect, test } from 'vitest'
import { type BreakerState, type CallOutcome, createBreaker, type Permit } from './breaker.ts'

const openBreaker = (random = 0.5) => {
  let nowMs = 0
  const changes: BreakerState[] = []
  const breaker = createBreaker({
    monotonicClock: { monotonicUs: () => nowMs * 1000 },
    randomness: () => random,
    onChange: (state) => changes.push(state),
  })
  return {
    breaker,
    changes,
    at: (ms: number) => {
      nowMs = ms
    },
    ask: (...outcomes: readonly CallOutcome[]) => {
      for (const outcome of outcomes) breaker.report(admitted(breaker.admit()), outcome)
    },
  }
}

const admitted = (permit: Permit | undefined): Permit => {
  if (permit === undefined) throw new Error('the breaker is open')
  return permit
}

const times = (count: number, outcome: CallOutcome) => Array.from({ length: count }, () => outcome)

test('five failures in a row open it, four and an answer do not', () => {
  const { breaker, changes, ask } = openBreaker()
  ask(...times(4, 'failed'), 'answered', ...times(4, 'failed'))
  expect(breaker.admit()).toBeDefined()
  ask('failed')
  expect(breaker.admit()).toBeUndefined()
  expect(changes).toEqual(['open'])
})

test('half of the calls of a second open it, though never five fail in a row', () => {
  const { breaker, ask } = openBreaker()
  for (let pair = 0; pair < 9; pair += 1) ask('failed', 'answered')
  ask('answered')
  expect(breaker.admit()).toBeDefined()
  ask('failed')
  expect(breaker.admit()).toBeUndefined()
})

test('failures that are spread over many seconds do not open it', () => {
  const { breaker, ask, at } = openBreaker()
  for (let second = 0; second < 60; second += 1) {
    at(second * 1_000)
    ask('failed', 'answered')
  }
  expect(breaker.admit()).toBeDefined()
})

test('calls that say nothing about the limiter do not open it', () => {
  const { breaker, ask } = openBreaker()
  ask(...times(100, 'inconclusive'))
  expect(breaker.admit()).toBeDefined()
})

test.each([
  [0, 100],
  [0.5, 175],
  [0.999, 250],
])(
  'at a random %d the probe leaves %i ms after the failure, alone, and an answer to it closes the breaker',
  (random, ms) => {
    const { breaker, changes, ask, at } = openBreaker(random)
    ask(...times(5, 'failed'))
    at(ms - 1)
    expect(breaker.admit()).toBeUndefined()
    at(ms)
    const probe = admitted(breaker.admit())
    expect(probe.probe).toBe(true)
    expect(breaker.admit()).toBeUndefined()
    breaker.report(probe, 'answered')
    expect(breaker.admit()).toEqual({ probe: false })
    expect(changes).toEqual(['open', 'closed'])
  },
)

test.each(['failed', 'inconclusive'] as const)('a probe that %s leaves it open until the next one', (outcome) => {
  const { breaker, changes, ask, at } = openBreaker()
  ask(...times(5, 'failed'))
  at(175)
  ask(outcome)
  at(349)
  expect(breaker.admit()).toBeUndefined()
  at(350)
  expect(admitted(breaker.admit()).probe).toBe(true)
  expect(changes).toEqual(['open'])
})

test('a closed breaker starts anew: failures from before it opened are forgotten', () => {
  const { breaker, ask, at } = openBreaker()
  ask(...times(5, 'failed'))
  at(175)
  ask('answered', ...times(4, 'failed'))
  expect(breaker.admit()).toBeDefined()
})

test('a report about a call from before it opened is void', () => {
  const { breaker, changes, ask, at } = openBreaker()
  const early = Array.from({ length: 20 }, () => admitted(breaker.admit()))
  ask(...times(5, 'failed'))
  breaker.report(admitted(early[0]), 'answered')
  expect(breaker.admit()).toBeUndefined()
  at(175)
  const probe = admitted(breaker.admit())
  breaker.report(admitted(early[1]), 'answered')
  expect(breaker.admit()).toBeUndefined()
  breaker.report(probe, 'answered')
  for (const permit of early) breaker.report(permit, 'failed')
  expect(breaker.admit()).toBeDefined()
  expect(changes).toEqual(['open', 'closed'])
})
