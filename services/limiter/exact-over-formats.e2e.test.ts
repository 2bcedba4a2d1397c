import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Rule } from '../bucket/rule.ts'
import { type Call, withOpenEnds } from '../conservation/history.ts'
import { judge } from '../conservation/judge.ts'
import { formatTotals } from '../conservation/totals.ts'
import { until } from '../platform/service.fixture.ts'
import { openRecordedLimiter, type RecordedLimiter, record, sumTotals } from './recorded-limiter.fixture.ts'
import { type RedisCluster, redisCli, startCluster } from './redis/redis-server.fixture.ts'

const HOT: Rule = { capacityTokens: 300, refillTokens: 50, periodS: 1 }
const COLD: Rule = { capacityTokens: 15, refillTokens: 1, periodS: 3600 }
const SUBJECTS = 300
const POLICIES = `
domain: api
subject: client
policies:
  - { name: hot, match: { plan: hot }, capacity: 300, refill: 50/s }
  - { name: cold, match: { plan: cold }, capacity: 15, refill: 1/h }
  - { name: wide, match: { plan: cold }, by: [client, route], capacity: 4000000, refill: 97/s }
  - { name: rehearsed, match: { plan: cold }, capacity: 3, refill: 1/h, mode: shadow }
`

/** How many keys of buckets begin with the byte of each format. */
const countFormats = ({ nodes }: RedisCluster) => {
  const count = { 1: 0, 2: 0 }
  const script = `
    local count = { 0, 0 }
    for _, key in ipairs(redis.call('KEYS', 'weir:{*}:s:api:*')) do
      local format = string.byte(redis.call('GET', key))
      count[format] = count[format] + 1
    end
    return count[1] .. ' ' .. count[2]`
  for (const { port } of nodes) {
    const [first = 0, second = 0] = redisCli(port, 'EVAL', script, '0').split(' ').map(Number)
    count[1] += first
    count[2] += second
  }
  return count
}

test('limiters that write the state as before and as now share buckets to the token, through an upgrade and a rollback', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-formats-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, POLICIES)
  const cluster = stack.use(await startCluster({ primaries: 3, replicas: 0 }))
  const open = async (format: '1' | '2') => {
    const settings = { LIMITER_STORE: cluster.address, LIMITER_POLICIES: policies, LIMITER_STATE_FORMAT: format }
    const limiter = stack.use(await openRecordedLimiter(settings))
    stack.defer(limiter.close)
    return limiter
  }
  const serving = [await open('1'), await open('1')]
  const pick = (turn: number): RecordedLimiter => {
    const limiter = serving[turn % serving.length]
    if (limiter === undefined) throw new Error('no limiter serves')
    return limiter
  }

  const hot: Call[] = []
  const cold = new Map<string, Call[]>()
  let changing = true
  const hotCaller = async (caller: number) => {
    for (let turn = caller; changing; turn += 1) hot.push(await record(pick(turn), { client: 'hot', plan: 'hot' }))
  }
  // Subject after subject, at every limiter, in as many rounds as have been let go; a group holds buckets of two routes.
  let [letGo, started, ended] = [0, 0, 0]
  const coldCaller = async () => {
    for (; changing || started < letGo; ) {
      if (started >= letGo) await new Promise((resolve) => setTimeout(resolve, 5))
      else await askCold(started++)
    }
  }
  const askCold = async (turn: number) => {
    const client = `subject-${turn % SUBJECTS}`
    const calls = cold.get(client) ?? []
    cold.set(client, calls)
    const round = Math.floor(turn / SUBJECTS)
    calls.push(await record(pick(turn + round), { client, plan: 'cold', route: `/r${round % 2}` }))
    ended += 1
  }
  const runRounds = async (rounds: number) => {
    letGo += rounds * SUBJECTS
    await until(() => ended >= letGo, 120_000)
  }
  const replaceOne = async (format: '1' | '2', end: 'SIGTERM' | 'SIGKILL') => {
    serving.push(await open(format))
    const leaving = serving.shift()
    await leaving?.stop(end)
    await runRounds(3)
  }
  const change = async () => {
    await runRounds(3)
    await replaceOne('2', 'SIGTERM')
    await replaceOne('2', 'SIGKILL')
    const upgraded = countFormats(cluster)
    await replaceOne('1', 'SIGKILL')
    await replaceOne('1', 'SIGTERM')
    const rolledBack = countFormats(cluster)
    // More than there is.
    await runRounds(5)
    changing = false
    return { upgraded, rolledBack }
  }
  const callers = [
    ...Array.from({ length: 10 }, (_, caller) => hotCaller(caller)),
    ...Array.from({ length: 10 }, coldCaller),
  ]
  const formats = await change()
  await Promise.all(callers)

  const noFaults = { overTokens: 0, underTokens: 0 }
  const hotJudged = judge({ rule: HOT, calls: withOpenEnds(hot), faultBound: noFaults })
  const coldJudged = [...cold.values()].map((calls) =>
    judge({ rule: COLD, calls: withOpenEnds(calls), faultBound: noFaults }),
  )
  const coldTotals = sumTotals(coldJudged.map(({ totals }) => totals))
  const rows = [
    { name: 'one bucket, 10 callers', totals: hotJudged.totals },
    { name: '300 subjects', totals: coldTotals },
  ]
  console.info(`${formatTotals(rows)}\nkeys of each format: ${JSON.stringify(formats)}`)

  expect(hotJudged, JSON.stringify(hotJudged)).toMatchObject({ lawful: true })
  expect(coldJudged.filter(({ lawful }) => !lawful)).toEqual([])
  expect([hotJudged.totals.decidedLocally, coldTotals.decidedLocally]).toEqual([0, 0])
  // The run tested what it says: each key was written in one format, then in the other, then in the first again.
  expect(formats).toEqual({ upgraded: { 1: 0, 2: SUBJECTS + 1 }, rolledBack: { 1: SUBJECTS + 1, 2: 0 } })
  for (const { totals } of coldJudged)
    expect(totals.admitted).toBeGreaterThanOrEqual(COLD.capacityTokens - totals.unanswered)
}, 480_000)
