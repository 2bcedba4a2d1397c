// One process that asks in every way in turn, so that its own cost is the same for all. It is told what to do by its parent.
import { setTimeout as delay } from 'node:timers/promises'
import type { Pace } from './loads.ts'
import { percentile } from './median.ts'
import { createPick, type Spread } from './spread.ts'
import { type Addresses, type Outcome, type Way, type WayName, ways } from './ways.ts'

export type Order = {
  readonly way: WayName
  readonly addresses: Addresses
  readonly pace: Pace
  readonly spread: Spread
  readonly warmUpMs: number
  readonly measureMs: number
}

export type Counted = Readonly<Record<Outcome, number>> & {
  readonly p50Us: number
  readonly p99Us: number
  readonly p999Us: number
}

export type Report =
  | { readonly kind: 'measuring' }
  /** What it needs is not on this machine. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'done'; readonly counted: Counted }

/** Arrivals that are more than this behind are left out, and failed. */
const MAX_UNDER_WAY = 4_000

const tell = (report: Report) => {
  process.send?.(report)
}

/** So long, and longer on a machine so busy that too little has happened by then. */
const atLeast = async (ms: number, isEnough: () => boolean) => {
  for (const end = performance.now() + ms; performance.now() < end || !isEnough(); )
    await delay(Math.max(20, end - performance.now()))
}

/** Asks at this pace until told to stop; resolves when all is answered. */
const keepAsking = async (pace: Pace, askOne: () => Promise<void>, refuse: () => void, isOver: () => boolean) => {
  if (pace.kind === 'at once') {
    const asker = async () => {
      while (!isOver()) await askOne()
    }
    await Promise.all(Array.from({ length: pace.askers }, asker))
    return
  }
  const underWay = new Set<Promise<void>>()
  const startMs = performance.now()
  for (let sent = 0; !isOver(); await delay(1))
    for (const due = ((performance.now() - startMs) * pace.perSecond) / 1000; sent < due; sent += 1) {
      if (underWay.size >= MAX_UNDER_WAY) refuse()
      else {
        const asked = askOne().finally(() => underWay.delete(asked))
        underWay.add(asked)
      }
    }
  await Promise.all(underWay)
}

const run = async ({ way: name, addresses, pace, spread, warmUpMs, measureMs }: Order): Promise<void> => {
  await using way: Way | undefined = await ways[name].open(addresses)
  if (way === undefined) {
    tell({ kind: 'missing' })
    return
  }
  const pick = createPick(spread, Math.random)
  const counts: Record<Outcome, number> = { passed: 0, refused: 0, local: 0, failed: 0 }
  const latenciesUs: number[] = []
  let answered = 0
  let phase: 'warm-up' | 'measure' | 'done' = 'warm-up'
  const askOne = async () => {
    const startMs = performance.now()
    const outcome = await way.ask(pick())
    answered += 1
    if (phase !== 'measure') return
    counts[outcome] += 1
    latenciesUs.push((performance.now() - startMs) * 1000)
  }
  const refuse = () => {
    counts.failed += 1
  }
  const enough = pace.kind === 'at once' ? pace.askers : 1
  const asking = keepAsking(pace, askOne, refuse, () => phase === 'done')
  await atLeast(warmUpMs, () => answered >= enough)
  phase = 'measure'
  tell({ kind: 'measuring' })
  await atLeast(measureMs, () => latenciesUs.length >= enough)
  phase = 'done'
  const sorted = Float64Array.from(latenciesUs).sort()
  const at = (part: number) => Math.round(percentile(sorted, part))
  tell({ kind: 'done', counted: { ...counts, p50Us: at(0.5), p99Us: at(0.99), p999Us: at(0.999) } })
  await asking
}

// One order after the other: closing the last way must not overlap the next.
let orders: Promise<unknown> = Promise.resolve()
process.on('message', (order: Order) => {
  orders = orders.then(() => run(order))
})
process.once('disconnect', () => process.exit())
