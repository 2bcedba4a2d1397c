import type { MonotonicClock } from '../../seams/clock.ts'
import type { Timers } from '../../seams/timers.ts'
import { encodeCheckFrames, idAfter } from '../../wire/check-frame.ts'
import { decodeDecisionFrame, type StreamDecision } from '../../wire/decision-frame.ts'
import { MAX_FRAME_CHECKS, MAX_MESSAGE_BYTES } from '../../wire/protocol.ts'
import { describeStatus, failureOf } from './grpc-status.ts'
import type { OpenLink } from './link.ts'
import type { Asked, Question } from './question.ts'

/** A limiter that is asked nothing must show by this that it is still there, within that time. */
const PING_AFTER_US = 10_000_000
const PONG_WITHIN_US = 2_000_000
/** An answer that is this late among others that come does not come any more. */
const ANSWER_WITHIN_US = 10_000_000
/** For a stream that is left: what is not answered by then is lost. */
const LEAVE_WITHIN_US = 5_000_000

export type StreamState = 'connecting' | 'open' | 'leaving' | 'ended'

/** What a stream that has ended, or is left, was asked in vain. */
export type Unanswered = {
  /** These may have been charged. */
  readonly sent: readonly Question[]
  /** These have not. */
  readonly unsent: readonly Question[]
}

export type CheckStream = Disposable & {
  readonly state: () => StreamState
  /** It leaves in this turn of the event loop, together with all others that are asked in it. */
  readonly ask: (question: Question) => void
  /** Questions that wait here, sent or not. */
  readonly waiting: () => number
  /** For how long it has been asked and has said nothing. */
  readonly silentUs: () => number
  /** Whether it has ever answered. */
  readonly hasAnswered: () => boolean
  /** Nothing more is sent; what was sent is still answered. */
  readonly leave: () => readonly Question[]
  /** Ends the stream if it takes too long with anything. To be called now and then, after a poll. */
  readonly judge: () => void
}

export type CheckStreamEvents = {
  readonly onOpen: () => void
  /** `go_away`: the limiter will end the stream, so another is needed. `draining`: this one is left already. */
  readonly onPushedAway: (how: 'go_away' | 'draining', unsent: readonly Question[]) => void
  /** The last event. */
  readonly onEnd: (reason: string, unanswered: Unanswered) => void
}

type Options = {
  readonly openLink: OpenLink
  /** How long connecting may take, and how long a limiter that is asked may say nothing: one that is well takes milliseconds. */
  readonly patienceUs: number
  readonly monotonicClock: MonotonicClock
  readonly timers: Timers
  readonly events: CheckStreamEvents
}

/** Checks and their answers on one link. */
export const openCheckStream = ({ openLink, patienceUs, monotonicClock, timers, events }: Options): CheckStream => {
  let state: StreamState = 'connecting'
  let queue: Question[] = []
  /** By id, in the order in which they were sent. */
  const sent = new Map<number, { readonly question: Question; readonly atUs: number }>()
  let nextId = 0
  let hasRoom = true
  let isFlushing = false
  let answered = false
  let stateSinceUs = monotonicClock.monotonicUs()
  let heardAtUs = stateSinceUs
  let pingedAtUs: number | undefined

  const enter = (next: StreamState) => {
    state = next
    stateSinceUs = monotonicClock.monotonicUs()
  }

  const end = (reason: string) => {
    if (state === 'ended') return
    enter('ended')
    link[Symbol.dispose]()
    const unanswered = {
      sent: sent
        .values()
        .map(({ question }) => question)
        .toArray(),
      unsent: queue,
    }
    sent.clear()
    queue = []
    events.onEnd(reason, unanswered)
  }

  const flush = () => {
    isFlushing = false
    while (state === 'open' && hasRoom && queue.length > 0) sendSome(monotonicClock.monotonicUs())
  }

  const sendSome = (nowUs: number) => {
    const batch: Question[] = []
    let taken = 0
    for (; taken < queue.length && batch.length < MAX_FRAME_CHECKS; taken += 1) {
      const question = queue[taken]
      if (question === undefined) continue
      // Nobody waits for it any more, and the limiter would charge it.
      if (question.endUs <= nowUs) question.settle(tooLate)
      else batch.push(question)
    }
    queue = taken === queue.length ? [] : queue.slice(taken)
    const { frames, tooLarge } = encodeCheckFrames(
      nextId,
      batch.map(({ check }) => check),
      batch.some(isTraced) ? batch.map(({ trace }) => trace) : undefined,
    )
    if (sent.size === 0) heardAtUs = nowUs
    batch.forEach((question, index) => {
      const id = idAfter(nextId, index)
      if (tooLarge.length > 0 && tooLarge.includes(id)) question.settle(isTooLarge)
      else sent.set(id, { question, atUs: nowUs })
    })
    nextId = idAfter(nextId, batch.length)
    for (const frame of frames) hasRoom = link.send(frame)
  }

  const takeFrame = (message: Buffer) => {
    if (state === 'ended') return
    const frame = decodeDecisionFrame(message)
    if (frame === undefined) return end('the limiter said something that is no frame')
    heardAtUs = monotonicClock.monotonicUs()
    for (const decision of frame.decisions) settle(decision)
    if (frame.draining && state === 'open') events.onPushedAway('draining', leave())
    else finishIfDone()
  }

  const settle = (decision: StreamDecision) => {
    const one = sent.get(decision.id)
    if (one === undefined) return
    sent.delete(decision.id)
    answered = true
    one.question.settle(askedOf(decision))
  }

  const leave = () => {
    const unsent = queue
    queue = []
    if (state === 'connecting') end('it is not needed any more')
    else if (state === 'open') {
      enter('leaving')
      finishIfDone()
    }
    return unsent
  }

  const finishIfDone = () => {
    if (state === 'leaving' && sent.size === 0) link.finish()
  }

  const judgeOpen = (nowUs: number) => {
    const [oldest] = sent.values()
    if (oldest !== undefined) {
      if (nowUs - heardAtUs > patienceUs) end(`nothing was heard for ${patienceUs / 1_000} ms`)
      else if (nowUs - oldest.atUs > ANSWER_WITHIN_US) end(`no answer within ${ANSWER_WITHIN_US / 1_000} ms`)
    } else if (pingedAtUs !== undefined) {
      if (nowUs - pingedAtUs > PONG_WITHIN_US) end(`no sign of life within ${PONG_WITHIN_US / 1_000} ms`)
    } else if (nowUs - heardAtUs > PING_AFTER_US) {
      pingedAtUs = nowUs
      link.ping()
    }
  }

  const link = openLink({
    onOpen: () => {
      if (state !== 'connecting') return
      enter('open')
      heardAtUs = stateSinceUs
      events.onOpen()
      flush()
    },
    onMessage: takeFrame,
    onRoom: () => {
      hasRoom = true
      flush()
    },
    onPong: () => {
      pingedAtUs = undefined
      heardAtUs = monotonicClock.monotonicUs()
    },
    onGoAway: () => {
      if (state === 'open') events.onPushedAway('go_away', [])
    },
    onEnd: end,
  })

  return {
    state: () => state,
    ask: (question) => {
      queue.push(question)
      if (isFlushing || state !== 'open' || !hasRoom) return
      isFlushing = true
      timers.afterPoll(flush)
    },
    waiting: () => queue.length + sent.size,
    silentUs: () => (sent.size === 0 ? 0 : monotonicClock.monotonicUs() - heardAtUs),
    hasAnswered: () => answered,
    leave,
    judge: () => {
      const nowUs = monotonicClock.monotonicUs()
      const forUs = nowUs - stateSinceUs
      if (state === 'open') judgeOpen(nowUs)
      else if (state === 'connecting' && forUs > patienceUs) end(`no connection within ${patienceUs / 1_000} ms`)
      else if (state === 'leaving' && forUs > LEAVE_WITHIN_US) end('it did not end by itself')
    },
    [Symbol.dispose]: () => end('the client is closed'),
  }
}

const isTraced = ({ trace }: Question) => trace !== undefined

const tooLate: Asked = {
  ok: false,
  failure: 'deadline_exceeded',
  detail: 'the deadline was over before it could be sent',
}
const isTooLarge: Asked = {
  ok: false,
  failure: 'rejected',
  detail: `the check is too large: at most ${MAX_MESSAGE_BYTES} bytes are sent`,
}

const askedOf = (decision: StreamDecision): Asked =>
  decision.ok
    ? { ok: true, answer: decision.answer }
    : { ok: false, failure: failureOf(decision.code), detail: describeStatus(decision.code, decision.message) }
