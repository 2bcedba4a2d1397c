import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Rule } from '../bucket/rule.ts'
import { type Call, withOpenEnds } from '../conservation/history.ts'
import { judge } from '../conservation/judge.ts'
import { formatTotals } from '../conservation/totals.ts'
import { openRecordedLimiter, type RecordedLimiter, record, sumTotals } from './recorded-limiter.fixture.ts'
import { startCluster } from './redis/redis-server.fixture.ts'

const HOT: Rule = { capacityTokens: 500, refillTokens: 100, periodS: 1 }
const COLD: Rule = { capacityTokens: 5, refillTokens: 1, periodS: 3600 }
const SUBJECTS = 1_000
const POLICIES = `
domain: api
subject: client
policies:
  - { name: hot, match: { plan: hot }, capacity: 500, refill: 100/s }
  - { name: cold, match: { plan: cold }, capacity: 5, refill: 1/h }
  - { name: rehearsed, match: { plan: cold }, capacity: 3, refill: 1/h, mode: shadow }
`

/**
 * Four limiters on a cluster, which must admit to the token what the law allows while limiters start, drain and are killed. Returns how many
 * takes they refused by what they had seen, without asking Redis; of those that ended, up to shortly before.
 */
export const expectExactAtScale = async (settings: Readonly<Record<string, string>>) => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-scale-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, POLICIES)
  const cluster = stack.use(await startCluster({ primaries: 3, replicas: 0 }))
  const open = async () => {
    const limiter = await openRecordedLimiter({
      LIMITER_STORE: cluster.address,
      LIMITER_POLICIES: policies,
      ...settings,
    })
    stack.use(limiter)
    stack.defer(limiter.close)
    return limiter
  }
  const serving = [await open(), await open(), await open(), await open()]
  const pick = (turn: number): RecordedLimiter => {
    const limiter = serving[turn % serving.length]
    if (limiter === undefined) throw new Error('no limiter serves')
    return limiter
  }

  let refusedFromMemory = 0
  const countRefusals = async (limiter: RecordedLimiter) => {
    refusedFromMemory += await limiter.refusedFromMemory()
  }
  const hot: Call[] = []
  const cold = new Map<string, Call[]>()
  let changing = true
  const hotCaller = async (caller: number) => {
    for (let turn = caller; changing; turn += 1) hot.push(await record(pick(turn), { client: 'hot', plan: 'hot' }))
  }
  // Each subject is asked for at every limiter, also after its bucket is empty, and twice in a row: the second time the limiter may know.
  const coldCaller = async (caller: number) => {
    for (let turn = caller; changing || turn < SUBJECTS * 6; turn += 20) {
      const client = `subject-${turn % SUBJECTS}`
      const calls = cold.get(client) ?? []
      cold.set(client, calls)
      const limiter = pick(turn * 7 + Math.floor(turn / SUBJECTS))
      for (let again = 0; again < 2; again += 1) calls.push(await record(limiter, { client, plan: 'cold' }))
    }
  }
  const change = async () => {
    for (const end of ['drain', 'kill', 'drain', 'kill'] as const) {
      serving.push(await open())
      const leaving = serving.shift()
      if (leaving === undefined) continue
      // Taken out of the list first when it drains; killed while it is asked.
      if (end === 'kill') serving.unshift(leaving)
      await countRefusals(leaving)
      const { code } = await leaving.stop(end === 'drain' ? 'SIGTERM' : 'SIGKILL')
      if (end === 'kill') serving.splice(serving.indexOf(leaving), 1)
      else expect(code).toBe(0)
    }
    changing = false
  }
  const callers = [
    ...Array.from({ length: 200 }, (_, caller) => hotCaller(caller)),
    ...Array.from({ length: 20 }, (_, caller) => coldCaller(caller)),
  ]
  await change()
  await Promise.all(callers)
  await Promise.all(serving.map(countRefusals))

  const noFaults = { overTokens: 0, underTokens: 0 }
  const hotJudged = judge({ rule: HOT, calls: withOpenEnds(hot), faultBound: noFaults })
  const coldJudged = [...cold.values()].map((calls) =>
    judge({ rule: COLD, calls: withOpenEnds(calls), faultBound: noFaults }),
  )
  const coldTotals = sumTotals(coldJudged.map(({ totals }) => totals))
  const rows = [
    { name: 'one bucket, 200 callers', totals: hotJudged.totals },
    { name: '1,000 subjects', totals: coldTotals },
    { name: 'together', totals: sumTotals([hotJudged.totals, coldTotals]), refusedFromMemory },
  ]
  console.info(
    `${formatTotals(rows)}\nunanswered by killed limiters: ${hotJudged.totals.unanswered} + ${coldTotals.unanswered}`,
  )

  expect([hotJudged.totals.decidedLocally, coldTotals.decidedLocally]).toEqual([0, 0])
  expect(hotJudged, JSON.stringify(hotJudged)).toMatchObject({ lawful: true })
  expect(coldJudged.filter(({ lawful }) => !lawful)).toEqual([])
  // The run tested what it says: buckets ran empty, limiters died with calls in flight.
  expect(hotJudged.totals.lowerBound).toBeGreaterThan(HOT.capacityTokens)
  expect(cold.size).toBe(SUBJECTS)
  expect(hotJudged.totals.unanswered + coldTotals.unanswered).toBeGreaterThan(0)
  // A killed limiter burns at most what it had in flight.
  for (const { totals } of coldJudged)
    expect(totals.admitted).toBeGreaterThanOrEqual(COLD.capacityTokens - totals.unanswered)
  return refusedFromMemory
}
