import type { MonotonicClock } from '../../seams/clock.ts'
import type { Timers } from '../../seams/timers.ts'
import type { Unanswered } from '../channel/check-stream.ts'
import type { AskFailure, Question } from '../channel/question.ts'
import type { Replica, ReplicaEvents, ReplicaStatus } from '../channel/replica.ts'
import { choosePlace, openPlace, type Place } from './placement.ts'

/** How often each replica is looked after, and what it was asked counts half. */
const JUDGE_MS = 250

/** Told of what happens between this process and the limiters. Never throws. */
export type ReplicaObserver = {
  readonly connected: (address: string) => void
  /** A connection, or an attempt at one, has ended. */
  readonly lost: (address: string, reason: string) => void
  /** A check was lost with its connection, when it may have been charged, and is asked once more elsewhere. */
  readonly askedAgain: () => void
}

export type ReplicaSet = Disposable & {
  /** Exactly these addresses from now on. */
  readonly update: (addresses: readonly string[]) => void
  readonly ask: (question: Question) => void
  /** How many addresses there are in each state. */
  readonly count: () => Readonly<Record<ReplicaStatus, number>>
}

type Options = {
  readonly open: (address: string, events: ReplicaEvents) => Replica
  /** What is told as long as there is no address. */
  readonly nobody: string
  readonly monotonicClock: MonotonicClock
  readonly timers: Timers
  readonly observe?: ReplicaObserver | undefined
}

type Member = Place & { readonly address: string; readonly replica: Replica }

/** All limiters that an address stands for: finds the right one for each question, and another when that one is lost. */
export const openReplicaSet = ({ open, nobody, monotonicClock, timers, observe }: Options): ReplicaSet => {
  let members: readonly Member[] = []
  /** They only finish what they were asked. */
  let retired: readonly Replica[] = []
  let lastReason = nobody
  let isClosed = false

  const openMember = (address: string): Member => ({
    ...openPlace(address),
    address,
    replica: open(address, {
      onConnected: () => observe?.connected(address),
      onLost: (reason, unanswered) => lost(address, reason, unanswered),
    }),
  })

  const ask = (question: Question) => {
    if (isClosed) return refuse(question, 'unavailable', 'the client is closed')
    const candidates = candidatesOf(members)
    const chosen = choosePlace(those(candidates, hasRoom), question.subject)
    if (chosen !== undefined) {
      chosen.load += 1
      chosen.replica.ask(question)
    } else if (candidates.length > 0) refuse(question, 'overloaded', 'too many checks wait for the limiter')
    else refuse(question, 'unavailable', lastReason)
  }

  const lost = (address: string, reason: string, { sent, unsent }: Unanswered) => {
    lastReason = `${address}: ${reason}`
    // Who closes the client knows it.
    if (!isClosed) observe?.lost(address, reason)
    for (const question of unsent) ask(question)
    const nowUs = monotonicClock.monotonicUs()
    for (const question of sent) {
      if (question.isRepeat || question.endUs <= nowUs || !isElsewhere(address)) {
        refuse(question, 'unavailable', lastReason)
        continue
      }
      observe?.askedAgain()
      ask({ ...question, isRepeat: true })
    }
  }

  const isElsewhere = (address: string) =>
    members.some((member) => member.address !== address && member.replica.status() !== 'away')

  let callOff = () => {}
  let lookedUs = monotonicClock.monotonicUs()
  const lookAfter = () => {
    const nowUs = monotonicClock.monotonicUs()
    // Had this process stood still, no limiter is to blame for its silence: they have until the next time.
    const stoodStill = nowUs - lookedUs > 2 * JUDGE_MS * 1_000
    lookedUs = nowUs
    retired = retired.filter((replica) => replica.isBusy())
    for (const replica of stoodStill ? [] : [...members.map((member) => member.replica), ...retired]) replica.judge()
    for (const member of members) member.load /= 2
    schedule()
  }
  const schedule = () => {
    // After a poll: had this process stood still, what the limiters said meanwhile is read first.
    callOff = timers.after(JUDGE_MS, () => timers.afterPoll(() => isClosed || lookAfter()))
  }
  schedule()

  return {
    update: (addresses) => {
      const gone = members.filter(({ address }) => !addresses.includes(address))
      const known = new Set(members.map(({ address }) => address))
      members = [
        ...members.filter(({ address }) => addresses.includes(address)),
        ...addresses.filter((address) => !known.has(address)).map(openMember),
      ]
      retired = [...retired, ...gone.map(({ replica }) => replica)]
      for (const { replica } of gone) replica.retire()
    },
    ask,
    count: () => {
      const counts = { ready: 0, slow: 0, connecting: 0, away: 0 }
      for (const { replica } of members) counts[replica.status()] += 1
      return counts
    },
    [Symbol.dispose]: () => {
      isClosed = true
      callOff()
      for (const replica of [...members.map(({ replica }) => replica), ...retired]) replica[Symbol.dispose]()
      members = []
    },
  }
}

/** The best that there are: those that answer, else those that are slow, else those that may soon be there. */
const candidatesOf = (members: readonly Member[]): readonly Member[] => {
  for (const status of ['ready', 'slow', 'connecting'] as const) {
    const found = those(members, ({ replica }) => replica.status() === status)
    if (found.length > 0) return found
  }
  return []
}

const hasRoom = ({ replica }: Member) => !replica.isFull()

/** Without a copy if it is all of them, as it is nearly always. */
const those = (members: readonly Member[], holds: (member: Member) => boolean) =>
  members.every(holds) ? members : members.filter(holds)

const refuse = (question: Question, failure: AskFailure, detail: string) =>
  question.settle({ ok: false, failure, detail })
