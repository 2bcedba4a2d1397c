// Four limiters as processes on a Redis of its own machine, which is stopped, killed, cut off, slow, loading or read-only while callers ask.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Rule } from '../bucket/rule.ts'
import type { Call } from '../conservation/history.ts'
import { judge } from '../conservation/judge.ts'
import { freePort, until } from '../platform/service.fixture.ts'
import { openRecordedLimiter, type RecordedLimiter, record } from './recorded-limiter.fixture.ts'
import { openFaultProxy } from './redis/fault-proxy.fixture.ts'
import { type Machine, startMachines } from './redis/machines.fixture.ts'

const LIMITERS = 4
const CAPACITY = 100
const HOT: Rule = { capacityTokens: CAPACITY, refillTokens: 20, periodS: 1 }
/** Nothing flows in: whatever is admitted without being charged, or charged twice, shows in the end. */
const COLD: Rule = { capacityTokens: CAPACITY, refillTokens: 1, periodS: 3600 }
const COLD_SUBJECTS = 12
const POLICIES = `
domain: api
subject: client
policies:
  - { name: hot, match: { plan: hot }, capacity: ${CAPACITY}, refill: 20/s }
  - { name: cold, match: { plan: cold }, capacity: ${CAPACITY}, refill: 1/h }
`
/** Of all cold subjects together 50 a second. */
const HOT_PER_S = 60
const COLD_PER_S = 50
const BEFORE_MS = 4_000
const FAULT_MS = 6_000
const AFTER_MS = 4_000
/** Longer than by default: on a busy machine 15 ms pass though the store is well. */
const DEADLINE_MS = 200
/** Slack beside what calls took before the fault; with the deadline less than the two seconds after which a silent connection is given up. */
const SCHEDULING_MS = 1_000
/** Of a bucket, and of what flows from the beginning of the fault until the last limiter counts in the store again. */
const SHARE_PART = 0.12
const FLOW_PART = 0.05
/** Of a bucket, where the store forgets what was written. */
const LOST_PART = 0.1
/** With pauses of 50 ms and more that grow; and what the callers ask for. */
const MOST_ATTEMPTS_PER_S = 5
const COMMANDS_PER_S = HOT_PER_S + COLD_PER_S
/** By this time after the store is back every limiter counts in it again. */
const RECOVERY_MS = 30_000

type Proxy = Awaited<ReturnType<typeof openFaultProxy>>
type Fault = {
  readonly name: string
  readonly losesWrites?: boolean
  readonly options?: readonly string[]
  readonly begin: (redis: Machine, proxy: Proxy) => unknown
  readonly end: (redis: Machine, proxy: Proxy) => unknown
}

const LOADING = ['--enable-debug-command', 'yes', '--loading-process-events-interval-bytes', '1024']

const faults: readonly Fault[] = [
  {
    name: 'stopped (SIGSTOP)',
    begin: (redis) => redis.signal('SIGSTOP'),
    end: (redis) => redis.signal('SIGCONT'),
  },
  {
    name: 'killed, and back empty',
    losesWrites: true,
    begin: (redis) => redis.kill(),
    end: (redis) => redis.begin(),
  },
  {
    name: 'partitioned: the cable is pulled',
    begin: (redis) => redis.unplug(),
    end: (redis) => redis.plugIn(),
  },
  {
    name: 'partitioned one way: asked, but not heard',
    begin: (redis) => redis.mute(),
    end: (redis) => redis.unmute(),
  },
  {
    name: 'slow: answers take 0 to 500 ms more',
    begin: (_, proxy) => proxy.set({ kind: 'slow', delayMs: () => Math.random() * 500 }),
    end: (_, proxy) => proxy.set({ kind: 'none' }),
  },
  {
    name: 'cut: each answer breaks off',
    begin: (_, proxy) => proxy.set({ kind: 'cut' }),
    end: (_, proxy) => proxy.set({ kind: 'none' }),
  },
  {
    name: 'reset: every connection',
    begin: (_, proxy) => proxy.set({ kind: 'reset' }),
    end: (_, proxy) => proxy.set({ kind: 'none' }),
  },
  {
    name: 'read-only (READONLY)',
    begin: (redis) => redis.cli('REPLICAOF', '127.0.0.1', '1'),
    end: (redis) => redis.cli('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'restarted, and loading (LOADING)',
    losesWrites: true,
    options: LOADING,
    begin: async (redis) => {
      redis.cli('DEBUG', 'POPULATE', '6000', 'ballast', '1000')
      redis.cli('SAVE')
      await redis.kill()
      redis.begin(['--key-load-delay', '1000'])
    },
    end: (redis) => redis.untilAnswering(),
  },
]

const startFleet = async ({ options = [] }: Fault) => {
  await using stack = new AsyncDisposableStack()
  const { machines } = stack.use(await startMachines(1, options))
  const [redis] = machines
  if (redis === undefined) throw new Error('no machine')
  const [host = '', port] = redis.address.split(':')
  const proxy = stack.use(await openFaultProxy({ host, port: Number(port) }))
  const folder = await mkdtemp(join(tmpdir(), 'weir-outage-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, POLICIES)
  const limiters: (RecordedLimiter & { readonly metrics: () => Promise<string> })[] = []
  for (let index = 0; index < LIMITERS; index += 1) {
    const admin = `127.0.0.1:${await freePort()}`
    const limiter = stack.use(
      await openRecordedLimiter({
        LIMITER_STORE: `redis://127.0.0.1:${proxy.port}`,
        LIMITER_STORE_DEADLINE_MS: `${DEADLINE_MS}`,
        LIMITER_POLICIES: policies,
        LIMITER_ADMIN_ADDRESS: admin,
      }),
    )
    stack.defer(limiter.close)
    limiters.push({ ...limiter, metrics: async () => (await fetch(`http://${admin}/metrics`)).text() })
  }
  const kept = stack.move()
  return { redis, proxy, limiters, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
}

type Fleet = Awaited<ReturnType<typeof startFleet>>
const pick = ({ limiters }: Fleet, turn: number): RecordedLimiter => {
  const limiter = limiters[turn % LIMITERS]
  if (limiter === undefined) throw new Error('no limiter')
  return limiter
}

/** Asks in turn at each limiter, at a rate, whatever the answers take. */
const startCallers = (fleet: Fleet, histories: Map<string, Call[]>) => {
  const stop = new AbortController()
  const under: Promise<void>[] = []
  const ask = async (turn: number, client: string, plan: string) => {
    const call = await record(pick(fleet, turn), { client, plan })
    histories.set(client, [...(histories.get(client) ?? []), call])
  }
  const keep = async (perS: number, clientOf: (turn: number) => string, plan: string) => {
    const startMs = performance.now()
    for (let turn = 0; !stop.signal.aborted; turn += 1) {
      await delay(Math.max(0, startMs + (turn * 1_000) / perS - performance.now()))
      under.push(ask(turn, clientOf(turn), plan))
    }
  }
  const keeping = [
    keep(HOT_PER_S, () => 'hot', 'hot'),
    // Not in step with the limiters: each subject is asked at all of them.
    keep(COLD_PER_S, (turn) => `cold-${Math.floor(turn / LIMITERS) % COLD_SUBJECTS}`, 'cold'),
  ]
  const end = async () => {
    stop.abort()
    await Promise.all(keeping)
    await Promise.all(under)
  }
  return { stop: end, [Symbol.asyncDispose]: end }
}

/** Until every limiter has refused each of them, so that all that the buckets held is counted. */
const drainCold = async (fleet: Fleet, histories: Map<string, Call[]>) => {
  const drain = async (client: string) => {
    for (let [turn, refused] = [0, 0]; refused < LIMITERS; turn += 1) {
      const call = await record(pick(fleet, turn), { client, plan: 'cold' })
      histories.get(client)?.push(call)
      refused = call.verdict === 'deny' ? refused + 1 : 0
      expect(turn).toBeLessThan(20 * CAPACITY)
    }
  }
  await Promise.all([...histories.keys()].filter((client) => client !== 'hot').map(drain))
}

/** A sample of all limiters together. */
const sumOf = async ({ limiters }: Fleet, sample: string) => {
  const pages = await Promise.all(limiters.map(({ metrics }) => metrics()))
  return pages.reduce((sum, page) => {
    const line = page.split('\n').find((one) => one.startsWith(`${sample} `))
    return sum + Number(line?.split(' ').at(-1) ?? Number.NaN)
  }, 0)
}

const isWell = async (fleet: Fleet) =>
  (await sumOf(fleet, 'weir_store_shards_given_up')) === 0 && (await sumOf(fleet, 'weir_share_open_accounts')) === 0

/** The most scripts that Redis runs in a second, from now on. */
const watchCommands = (redis: Machine) => {
  const stop = new AbortController()
  const count = () =>
    [...redis.cli('INFO', 'commandstats').matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    )
  const watch = async () => {
    let most = 0
    let last: { readonly atMs: number; readonly calls: number } | undefined
    while (!stop.signal.aborted) {
      await redis.untilAnswering()
      const seen = { atMs: performance.now(), calls: count() }
      if (last !== undefined) most = Math.max(most, (1_000 * (seen.calls - last.calls)) / (seen.atMs - last.atMs))
      last = seen
      await delay(1_000)
    }
    return most
  }
  const watching = watch()
  return {
    stop: () => {
      stop.abort()
      return watching
    },
  }
}

const tookMs = ({ invokeUs, responseUs }: Call) => (responseUs - invokeUs) / 1_000
const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
const describeMs = (calls: readonly Call[]) => {
  const sorted = calls.map(tookMs).toSorted((a, b) => a - b)
  return [0.5, 0.99, 1].map((part) => quantile(sorted, part).toFixed(1)).join(' / ')
}

const rows: object[] = []

describe('while the store is away the callers get their answers, and the buckets hold', () => {
  test.each(faults)('$name', { timeout: 240_000 }, async (fault) => {
    await using fleet = await startFleet(fault)
    const { redis, proxy } = fleet
    const histories = new Map<string, Call[]>()
    await using callers = startCallers(fleet, histories)
    await delay(BEFORE_MS)
    const connectionsBefore = proxy.accepted()
    const faultMs = performance.now()
    await fault.begin(redis, proxy)
    await delay(FAULT_MS)
    const connectionsMeanwhile = proxy.accepted() - connectionsBefore
    await fault.end(redis, proxy)
    const backMs = performance.now()
    const commands = watchCommands(redis)
    await until(() => isWell(fleet), RECOVERY_MS)
    const recoveredMs = performance.now() - backMs
    const connectionsOnReturn = proxy.accepted() - connectionsBefore - connectionsMeanwhile
    await delay(AFTER_MS)
    const mostCommandsPerS = await commands.stop()
    await callers.stop()
    await drainCold(fleet, histories)
    await until(() => isWell(fleet), RECOVERY_MS)

    const all = [...histories.values()].flat()
    const local = all.filter(({ decidedLocally }) => decidedLocally)
    const countedAloneMs = Math.max(...local.map(({ responseUs }) => responseUs)) / 1_000 - faultMs
    const boundOf = ({ refillTokens, periodS }: Rule) => {
      const part = SHARE_PART + (fault.losesWrites === true ? LOST_PART : 0)
      const tokens = part * CAPACITY + (FLOW_PART * (countedAloneMs / 1_000) * refillTokens) / periodS
      return { overTokens: tokens, underTokens: tokens }
    }
    const judgedOf = (client: string, calls: readonly Call[]) => {
      const rule = client === 'hot' ? HOT : COLD
      const faultBound = boundOf(rule)
      const { worst, totals } = judge({ rule, calls, faultBound })
      // A limiter whose part is spent refuses while another's is not: refusals are explained by all of them together, in the totals.
      return {
        client,
        worst,
        totals,
        lawful: (worst?.excessTokens ?? 0) <= faultBound.overTokens && totals.difference === 0,
      }
    }
    const judged = [...histories].map(([client, calls]) => judgedOf(client, calls))
    const cold = judged.filter(({ client }) => client !== 'hot')
    const excess = ({ worst }: (typeof judged)[number]) => worst?.excessTokens ?? 0
    // A second after the beginning every breaker knows.
    const settled = local.filter(({ invokeUs }) => invokeUs > (faultMs + 1_000) * 1_000 && invokeUs < backMs * 1_000)
    const charged = await sumOf(fleet, 'weir_share_tokens_total{result="charged"}')
    const coldAdmitted = cold.map(({ totals }) => totals.admitted)
    const meanCold = coldAdmitted.reduce((sum, one) => sum + one, 0) / cold.length
    const hot = judged.find(({ client }) => client === 'hot')
    rows.push({
      fault: fault.name,
      local: local.length,
      'all ms p50/99/max': describeMs(all),
      'away ms p50/99/max': describeMs(settled),
      'hot over': hot === undefined ? '-' : excess(hot).toFixed(1),
      'cold admitted mean': meanCold.toFixed(1),
      min: Math.min(...coldAdmitted),
      max: Math.max(...coldAdmitted),
      charged: charged.toFixed(1),
      'connects away/back': `${connectionsMeanwhile} / ${connectionsOnReturn}`,
      'commands/s': mostCommandsPerS.toFixed(0),
      'recovered ms': recoveredMs.toFixed(0),
    })
    console.table(rows)

    expect(all.filter(({ verdict }) => verdict === 'unknown')).toEqual([])
    const before = all.filter(({ responseUs }) => responseUs < faultMs * 1_000)
    const longestMs = (calls: readonly Call[]) => Math.max(...calls.map(tookMs))
    expect(longestMs(all)).toBeLessThan(DEADLINE_MS + SCHEDULING_MS + longestMs(before))
    expect(settled.length).toBeGreaterThan(100)
    for (const one of judged) expect(one, JSON.stringify(one)).toMatchObject({ lawful: true })
    expect(charged).toBeGreaterThan(0)
    // Nobody storms a store that is away, nor one that is back: each limiter has one connection, and pauses between two attempts.
    expect(connectionsMeanwhile).toBeLessThan((LIMITERS * MOST_ATTEMPTS_PER_S * FAULT_MS) / 1_000)
    expect(connectionsOnReturn).toBeLessThanOrEqual(3 * LIMITERS)
    expect(mostCommandsPerS).toBeLessThan(3 * COMMANDS_PER_S)
    expect(Math.abs(meanCold - CAPACITY)).toBeLessThan(3)
  })
})
