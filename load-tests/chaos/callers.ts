/** Who asks while all this goes on: callers of the limiters, each line of their histories kept, and callers of the APIs. */
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Call } from '../../services/conservation/history.ts'
import type { Installation } from './installation.ts'

const HOT_PER_S = 40
const COLD_PER_S = 30
const API_PER_S = 10
const COLD_SUBJECTS = 4
const API_PATIENCE_MS = 10_000

export type Callers = AsyncDisposable & {
  /** By client. */
  readonly histories: ReadonlyMap<string, readonly Call[]>
  /** Answers of the APIs by status, and by what went wrong where there was none. */
  readonly apiAnswers: ReadonlyMap<string, number>
  /** From now on other clients are asked for, with full buckets: what becomes of theirs is this fault's doing. */
  readonly nameFault: (name: string) => void
  /** Asks for the clients of a fault until every limiter has refused each. */
  readonly drain: (name: string) => Promise<void>
}

export const startCallers = ({ limiters, apiPorts, key }: Installation): Callers => {
  const stop = new AbortController()
  const histories = new Map<string, Call[]>()
  const apiAnswers = new Map<string, number>()
  const underWay = new Set<Promise<void>>()
  let fault = 'none'

  const ask = async (turn: number, client: string, plan: string): Promise<Call> => {
    const invokeUs = Math.floor(performance.now() * 1_000)
    const reply = await limiters[turn % limiters.length]
      ?.client()
      .shouldAllow({ domain: 'api', attributes: { client, plan } })
    const responseUs = Math.ceil(performance.now() * 1_000)
    const answered = reply?.ok === true ? reply.response : undefined
    const verdict = answered === undefined ? 'unknown' : answered.verdict === 'ALLOW' ? 'allow' : 'deny'
    const decidedLocally = answered !== undefined && answered.basis !== 'BUCKET'
    const call = { invokeUs, responseUs, cost: 1, verdict, decidedLocally } as const
    const history = histories.get(client) ?? []
    history.push(call)
    histories.set(client, history)
    return call
  }

  const askApi = async (turn: number) => {
    const answer = await statusOf(apiPorts[turn % apiPorts.length] ?? 0, key)
    apiAnswers.set(answer, (apiAnswers.get(answer) ?? 0) + 1)
  }

  const keep = async (perS: number, question: (turn: number) => Promise<unknown>) => {
    const startMs = performance.now()
    for (let turn = 0; !stop.signal.aborted; turn += 1) {
      await delay(Math.max(0, startMs + (turn * 1_000) / perS - performance.now()))
      const asked = question(turn).then(() => void underWay.delete(asked))
      underWay.add(asked)
    }
  }
  const coldOf = (name: string, index: number) => `cold ${name} ${index}`
  const keeping = [
    keep(HOT_PER_S, (turn) => ask(turn, 'hot', 'hot')),
    keep(COLD_PER_S, (turn) => ask(turn, coldOf(fault, Math.floor(turn / limiters.length) % COLD_SUBJECTS), 'cold')),
    keep(API_PER_S, askApi),
  ]

  const drainOne = async (client: string) => {
    for (let [turn, refused] = [0, 0]; refused < limiters.length; turn += 1) {
      const { verdict } = await ask(turn, client, 'cold')
      refused = verdict === 'deny' ? refused + 1 : 0
      if (turn > 2_000) throw new Error(`${client} is never empty`)
    }
  }

  return {
    histories,
    apiAnswers,
    nameFault: (name) => {
      fault = name
    },
    drain: async (name) => {
      await Promise.all(Array.from({ length: COLD_SUBJECTS }, (_, index) => drainOne(coldOf(name, index))))
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await Promise.all(keeping)
      await Promise.all(underWay)
    },
  }
}

const statusOf = (port: number, key: string) =>
  new Promise<string>((resolve) => {
    const headers = { authorization: `Bearer ${key}` }
    const path = '/v1/orders?limit=1'
    // On a connection of its own: one that was kept may end just when it is used again.
    const options = { host: '127.0.0.1', port, path, headers, timeout: API_PATIENCE_MS, agent: false }
    const sent = request(options, (response) => response.resume().once('end', () => resolve(`${response.statusCode}`)))
    sent.once('timeout', () => sent.destroy(new Error('no answer')))
    sent.once('error', (error) => resolve(error.message))
    sent.end()
  })
