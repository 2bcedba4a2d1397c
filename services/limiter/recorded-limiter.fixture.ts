/** Limiters as processes, and what their callers saw, as histories for the law of conservation. */
import { fileURLToPath } from 'node:url'
import type { Call } from '../conservation/history.ts'
import type { Totals } from '../conservation/totals.ts'
import { freePort, type RunningService, startService } from '../platform/service.fixture.ts'
import { openClient } from './rpc/server.fixture.ts'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

export type RecordedLimiter = Awaited<ReturnType<typeof openRecordedLimiter>>

export const openRecordedLimiter = async (settings: Readonly<Record<string, string>>) => {
  const address = `127.0.0.1:${await freePort()}`
  const adminAddress = `127.0.0.1:${await freePort()}`
  const service = await start({
    LIMITER_ADDRESS: address,
    LIMITER_ADMIN_ADDRESS: adminAddress,
    // Every decision is the bucket's: a test fails if one was made locally.
    LIMITER_STORE_DEADLINE_MS: '5000',
    LOG_LEVEL: 'error',
    ...settings,
  })
  const client = openClient(address)
  /** Takes that it has refused by what it had seen, without asking the store. */
  const refusedFromMemory = async () => {
    const metrics = await (await fetch(`http://${adminAddress}/metrics`)).text()
    return Number(/^weir_witness_local_refusals_total(?:\{.*\})? (\d+)/m.exec(metrics)?.[1] ?? 0)
  }
  return { ...service, shouldAllow: client.shouldAllow, close: client[Symbol.dispose], refusedFromMemory }
}

/** On a machine that is busy with the test's own load the policy file may not be read in its time: then once more. */
const start = async (settings: Readonly<Record<string, string>>, attempts = 3): Promise<RunningService> => {
  const started = await startService(program, settings)
  if (started.ok) return started.service
  if (attempts > 1 && started.output.includes('takes longer than')) return start(settings, attempts - 1)
  throw new Error(started.output)
}

/** One check at a limiter, as a line of the bucket's history. */
export const record = async (limiter: RecordedLimiter, attributes: Readonly<Record<string, string>>): Promise<Call> => {
  const invokeUs = Math.floor(performance.now() * 1000)
  const reply = await limiter.shouldAllow({ domain: 'api', attributes })
  const responseUs = Math.ceil(performance.now() * 1000)
  if (!reply.ok) return { invokeUs, responseUs, cost: 1, verdict: 'unknown', decidedLocally: false }
  const { verdict, basis } = reply.response
  return {
    invokeUs,
    responseUs,
    cost: 1,
    verdict: verdict === 'ALLOW' ? 'allow' : 'deny',
    decidedLocally: basis !== 'BUCKET',
  }
}

export const sumTotals = (all: readonly Totals[]): Totals => {
  const add = (read: (totals: Totals) => number) => all.reduce((total, one) => total + read(one), 0)
  return {
    offered: add(({ offered }) => offered),
    admitted: add(({ admitted }) => admitted),
    unanswered: add(({ unanswered }) => unanswered),
    lowerBound: add(({ lowerBound }) => lowerBound ?? 0),
    upperBound: add(({ upperBound }) => upperBound),
    difference: add(({ difference }) => Math.abs(difference)),
    decidedLocally: add(({ decidedLocally }) => decidedLocally),
  }
}
