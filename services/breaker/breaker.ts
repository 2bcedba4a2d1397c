import type { MonotonicClock } from '../seams/clock.ts'
import type { Randomness } from '../seams/randomness.ts'

/** Opens after this many failures in a row, … */
const FAILURES_IN_A_ROW = 5
/** … or when this part of the calls of a window failed, if they were enough to tell. */
const FAILED_PART = 0.5
const WINDOW_US = 1_000_000
const WINDOW_MIN_CALLS = 20
/** How long after the last failure a probe is sent, at random, so that many clients do not probe in step. */
const PROBE_AFTER_MIN_US = 100_000
const PROBE_AFTER_SPREAD_US = 150_000

/** Leave to ask. It is void once the breaker has changed its mind: a report about it is old news then. */
export type Permit = { readonly probe: boolean }

/** `inconclusive`: the call says nothing about the limiter, as when this process itself stood still. */
export type CallOutcome = 'answered' | 'failed' | 'inconclusive'

export type BreakerState = 'closed' | 'open'

export type Breaker = {
  /** Nothing while the breaker is open, but for one call at a time that probes. Each permit is reported once. */
  readonly admit: () => Permit | undefined
  readonly report: (permit: Permit, outcome: CallOutcome) => void
}

type State =
  | {
      readonly kind: 'closed'
      readonly permit: Permit
      row: number
      windowEndUs: number
      calls: number
      failed: number
    }
  | { readonly kind: 'open'; readonly probeAtUs: number }
  | { readonly kind: 'probing'; readonly permit: Permit }

type Options = {
  readonly monotonicClock: MonotonicClock
  readonly randomness: Randomness
  readonly onChange: (state: BreakerState) => void
}

export const createBreaker = ({ monotonicClock, randomness, onChange }: Options): Breaker => {
  const closed = (): State => ({
    kind: 'closed',
    permit: { probe: false },
    row: 0,
    windowEndUs: 0,
    calls: 0,
    failed: 0,
  })
  const open = (): State => ({
    kind: 'open',
    probeAtUs: monotonicClock.monotonicUs() + PROBE_AFTER_MIN_US + randomness() * PROBE_AFTER_SPREAD_US,
  })
  let state = closed()

  const count = (window: Extract<State, { kind: 'closed' }>, failed: boolean) => {
    const nowUs = monotonicClock.monotonicUs()
    if (nowUs >= window.windowEndUs) {
      window.windowEndUs = nowUs + WINDOW_US
      window.calls = 0
      window.failed = 0
    }
    window.calls += 1
    window.failed += failed ? 1 : 0
    window.row = failed ? window.row + 1 : 0
    const tooMany = window.calls >= WINDOW_MIN_CALLS && window.failed >= window.calls * FAILED_PART
    return window.row >= FAILURES_IN_A_ROW || tooMany
  }

  return {
    admit: () => {
      switch (state.kind) {
        case 'closed':
          return state.permit
        case 'open':
          if (monotonicClock.monotonicUs() < state.probeAtUs) return undefined
          state = { kind: 'probing', permit: { probe: true } }
          return state.permit
        case 'probing':
          return undefined
      }
    },
    report: (permit, outcome) => {
      if (state.kind === 'open' || permit !== state.permit) return
      if (state.kind === 'probing') {
        state = outcome === 'answered' ? closed() : open()
        if (state.kind === 'closed') onChange('closed')
      } else if (outcome !== 'inconclusive' && count(state, outcome === 'failed')) {
        state = open()
        onChange('open')
      }
    },
  }
}
