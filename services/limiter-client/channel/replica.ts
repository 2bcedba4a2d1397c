import type { MonotonicClock } from '../../seams/clock.ts'
import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import { type CheckStream, openCheckStream, type Unanswered } from './check-stream.ts'
import type { OpenLink } from './link.ts'
import type { Question } from './question.ts'

/** Before the next attempt, doubled by each that failed; half of it is random, so that many clients do not come at once. */
const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 1_000
const PATIENCE_US = 1_000_000
/** By how much patience grows with attempts that fail: a limiter that is only busy is not given up for ever. */
const MOST_PATIENCE = 4
/** A limiter that says nothing for this long is not asked while another one answers. */
const SLOW_US = 100_000
/** Questions that may wait for one limiter. It holds no more than it answers within a deadline. */
const MAX_WAITING = 4_000

/**
 * `connecting`: for the first time, or again after it answered, so it is worth waiting for. `away`: it could not be reached.
 */
export type ReplicaStatus = 'ready' | 'slow' | 'connecting' | 'away'

export type Replica = Disposable & {
  readonly status: () => ReplicaStatus
  readonly isFull: () => boolean
  /** For one that is neither away nor full. */
  readonly ask: (question: Question) => void
  /** For one that is not needed any more: what it has been asked is still answered. */
  readonly retire: () => void
  /** Whether a retired one still has to answer. */
  readonly isBusy: () => boolean
  readonly judge: () => void
}

export type ReplicaEvents = {
  readonly onConnected: () => void
  /** Questions that this limiter will not answer, if any. */
  readonly onLost: (reason: string, unanswered: Unanswered) => void
}

type Options = {
  readonly openLink: OpenLink
  /** How long a limiter may take to connect or to say something, doubled by each attempt that fails. */
  readonly patienceUs?: number
  readonly monotonicClock: MonotonicClock
  readonly timers: Timers
  readonly randomness: Randomness
  readonly events: ReplicaEvents
}

/** One limiter: a stream to it, and another when that one is lost or about to be. */
export const openReplica = (options: Options): Replica => {
  const { openLink, patienceUs = PATIENCE_US, monotonicClock, timers, randomness, events } = options
  /** The one that is asked. Absent while the next attempt is waited for. */
  let current: CheckStream | undefined
  /** The one that takes over from `current` as soon as it is open. */
  let successor: CheckStream | undefined
  /** Those that still have to answer. */
  const left = new Set<CheckStream>()
  /** Attempts in a row that were not answered. */
  let failures = 0
  let isRetired = false
  let callOff = () => {}

  const open = (): CheckStream => {
    const stream: CheckStream = openCheckStream({
      openLink,
      patienceUs: patienceUs * Math.min(2 ** failures, MOST_PATIENCE),
      monotonicClock,
      timers,
      events: {
        onOpen: () => {
          if (stream === successor) replaceCurrent(stream)
          events.onConnected()
        },
        onPushedAway: (how, unsent) => pushedAway(stream, how, unsent),
        onEnd: (reason, unanswered) => ended(stream, reason, unanswered),
      },
    })
    return stream
  }

  const replaceCurrent = (stream: CheckStream) => {
    const before = current
    current = stream
    successor = undefined
    if (before === undefined) return
    left.add(before)
    const unsent = before.leave()
    for (const question of unsent) stream.ask(question)
  }

  const pushedAway = (stream: CheckStream, how: 'go_away' | 'draining', unsent: readonly Question[]) => {
    if (stream !== current) return
    if (stream.hasAnswered()) failures = 0
    if (how === 'go_away') {
      if (!isRetired) successor ??= open()
      return
    }
    left.add(stream)
    current = successor
    successor = undefined
    if (current === undefined) tryAgain()
    events.onLost('the limiter is draining', { sent: [], unsent })
  }

  const ended = (stream: CheckStream, reason: string, unanswered: Unanswered) => {
    if (stream.hasAnswered()) failures = 0
    // It was left, and is done.
    if (left.delete(stream) && unanswered.sent.length === 0) return
    if (stream === successor) successor = undefined
    else if (stream === current) {
      current = successor
      successor = undefined
      if (current === undefined) tryAgain()
    }
    events.onLost(reason, unanswered)
  }

  const tryAgain = () => {
    if (isRetired) return
    const delayMs = Math.min(RETRY_MIN_MS * 2 ** failures, RETRY_MAX_MS)
    failures += 1
    callOff = timers.after(delayMs * (0.5 + randomness() / 2), () => {
      current = open()
    })
  }

  const status = (): ReplicaStatus => {
    if (current === undefined) return 'away'
    switch (current.state()) {
      case 'open':
        return current.silentUs() > SLOW_US ? 'slow' : 'ready'
      case 'connecting':
        return failures <= 1 ? 'connecting' : 'away'
      case 'leaving':
      case 'ended':
        return 'away'
    }
  }

  current = open()
  return {
    status,
    isFull: () => (current?.waiting() ?? 0) >= MAX_WAITING,
    ask: (question) => current?.ask(question),
    retire: () => {
      isRetired = true
      callOff()
      successor?.leave()
      const leaving = current
      current = undefined
      if (leaving === undefined) return
      left.add(leaving)
      events.onLost('the limiter is not needed any more', { sent: [], unsent: leaving.leave() })
    },
    isBusy: () => left.size > 0,
    judge: () => {
      for (const stream of [current, successor, ...left]) stream?.judge()
    },
    [Symbol.dispose]: () => {
      isRetired = true
      callOff()
      for (const stream of [current, successor, ...left]) stream?.[Symbol.dispose]()
    },
  }
}
