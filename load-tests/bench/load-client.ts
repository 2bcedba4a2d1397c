// One process that asks in every way in turn, so that its own cost is the same for all. It is told what to do by its parent.
import { type Addresses, type Outcome, type WayName, ways } from './ways.ts'

export type Order = {
  readonly way: WayName
  readonly addresses: Addresses
  readonly concurrency: number
  readonly keys: number
  readonly warmUpMs: number
  readonly measureMs: number
}

export type Report =
  | { readonly kind: 'measuring' | 'missing' }
  | {
      readonly kind: 'done'
      readonly checks: number
      readonly failed: number
      readonly local: number
      readonly p50Us: number
      readonly p99Us: number
      readonly p999Us: number
    }

const tell = (report: Report) => {
  process.send?.(report)
}

/** So long, and longer on a machine so busy that too little has happened by then. */
const atLeast = async (ms: number, isEnough: () => boolean) => {
  for (const end = performance.now() + ms; performance.now() < end || !isEnough(); )
    await new Promise((resolve) => setTimeout(resolve, Math.max(20, end - performance.now())))
}

/** Closed loop: each of the askers asks again when it is answered. */
const run = async ({ way: name, addresses, concurrency, keys, warmUpMs, measureMs }: Order): Promise<void> => {
  await using way = await ways[name](addresses)
  if (way === undefined) {
    tell({ kind: 'missing' })
    return
  }
  const counts: Record<Outcome, number> = { counted: 0, local: 0, failed: 0 }
  const latenciesUs: number[] = []
  let answered = 0
  let phase: 'warm-up' | 'measure' | 'done' = 'warm-up'
  const asker = async () => {
    while (phase !== 'done') {
      const startMs = performance.now()
      const outcome = await way.ask(`user:${Math.floor(Math.random() * keys)}`)
      answered += 1
      if (phase !== 'measure') continue
      counts[outcome] += 1
      latenciesUs.push((performance.now() - startMs) * 1000)
    }
  }
  const askers = Array.from({ length: concurrency }, asker)
  await atLeast(warmUpMs, () => answered >= concurrency)
  phase = 'measure'
  tell({ kind: 'measuring' })
  await atLeast(measureMs, () => latenciesUs.length >= concurrency)
  phase = 'done'
  const checks = counts.counted + counts.local + counts.failed
  latenciesUs.sort((a, b) => a - b)
  const at = (part: number) => Math.round(latenciesUs[Math.floor(latenciesUs.length * part)] ?? 0)
  const { local, failed } = counts
  tell({ kind: 'done', checks, local, failed, p50Us: at(0.5), p99Us: at(0.99), p999Us: at(0.999) })
  await Promise.all(askers)
}

// One order after the other: closing the last way must not overlap the next.
let orders: Promise<unknown> = Promise.resolve()
process.on('message', (order: Order) => {
  orders = orders.then(() => run(order))
})
process.once('disconnect', () => process.exit())
