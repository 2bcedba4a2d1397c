// All attacks at once, in a process of their own and of the lowest priority: what is measured is what they cost the server, and not
// that they take the processor from it. Told to begin and to stop.
import type { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { attacks, sieges, statusesIn, type Target } from './abuse.fixture.ts'

export type AttackerSettings = { readonly port: number; readonly keys: readonly string[] }

export type AttackReport = {
  /** How many answers of each status each attack and each siege had. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The connections that were opened, and those that the server had closed when it was over. */
  readonly sieges: Readonly<Record<string, { readonly opened: number; readonly closed: number }>>
}

export type AttackerOrder = 'begin' | 'stop'

setPriority(constants.priority.PRIORITY_LOW)

const { port, keys }: AttackerSettings = JSON.parse(process.env['ATTACK'] ?? '')
/** An attack that is still under way so often is not made once more. */
const MAX_AT_ONCE = 10
/** All sieges stand within about 7 s. */
const OPENED_AT_ONCE = 50
const OPEN_EVERY_MS = 100
/** For the answers that are under way at the end. */
const LAST_ANSWERS_MS = 3_000

const answers: Record<string, Record<string, number>> = {}
const sockets = new Map<string, Socket[]>()
let stop = new AbortController()
const underWay = new Set<Promise<void>>()

const count = (claim: string, statuses: readonly number[]) => {
  const counts = answers[claim] ?? {}
  answers[claim] = counts
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
}

const repeat = async ({ claim, perS, run }: (typeof attacks)[number], target: Target, signal: AbortSignal) => {
  let atOnce = 0
  while (!signal.aborted) {
    if (atOnce < MAX_AT_ONCE) {
      atOnce += 1
      const running = run(target).then((statuses) => {
        atOnce -= 1
        count(claim, statuses)
        underWay.delete(running)
      })
      underWay.add(running)
    }
    await delay(1000 / perS)
  }
}

const besiege = async ({ claim, connections, open }: (typeof sieges)[number], signal: AbortSignal) => {
  const opened: Socket[] = []
  sockets.set(claim, opened)
  while (opened.length < connections && !signal.aborted) {
    for (let index = 0; index < OPENED_AT_ONCE; index += 1) {
      const socket = open(targetOf(attacks.length))
      if (!socket.isPaused()) socket.setEncoding('latin1').on('data', (text: string) => count(claim, statusesIn(text)))
      opened.push(socket)
    }
    await delay(OPEN_EVERY_MS)
  }
}

const targetOf = (index: number): Target => {
  const key = keys[index]
  return { port, ...(key !== undefined && { key }) }
}

const begin = () => {
  stop = new AbortController()
  const { signal } = stop
  for (const [index, attack] of attacks.entries()) void repeat(attack, targetOf(index), signal)
  for (const siege of sieges) void besiege(siege, signal)
}

const end = async (): Promise<AttackReport> => {
  stop.abort()
  const ended: Record<string, { opened: number; closed: number }> = {}
  for (const [claim, opened] of sockets) {
    ended[claim] = { opened: opened.length, closed: opened.filter(({ closed }) => closed).length }
    for (const socket of opened) socket.destroy()
  }
  sockets.clear()
  await Promise.race([Promise.all(underWay), delay(LAST_ANSWERS_MS)])
  return { answers, sieges: ended }
}

process.on('message', async (order: AttackerOrder) => {
  if (order === 'begin') begin()
  else process.send?.(await end())
})
process.once('disconnect', () => process.exit())
