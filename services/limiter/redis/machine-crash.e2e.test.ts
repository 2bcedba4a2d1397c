import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { until } from '../../platform/service.fixture.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { type Machine, startMachines } from './machines.fixture.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { createShards, slotOf } from './shards.ts'

const CAPACITY = 200
const SPENT = 160
const KEYS = 20
const LIMITERS = 8
const ROUNDS = 2
const SHARDS = 64

/** Half a token a second, as in a bucket of 200 that is full in under seven minutes. */
const RULE = { capacityTokens: CAPACITY, refillTokens: 1, periodS: 2 }

const isPrimary = (machine: Machine) => machine.cli('ROLE').startsWith('master')
const isSettled = (machine: Machine) => {
  const info = machine.cli('INFO', 'replication')
  return info.includes('role:slave') ? info.includes('master_link_status:up') : /^connected_slaves:[1-9]/m.test(info)
}

/** Buckets that live on this primary. */
const bucketsOn = (machine: Machine): readonly AskedBucket[] => {
  const [, nodes = ''] = /myself,master - \S+ \S+ \S+ connected ([\d\- ]+)/.exec(machine.cli('CLUSTER', 'NODES')) ?? []
  const ranges = nodes
    .trim()
    .split(' ')
    .map((range) => range.split('-').map(Number))
  const holds = (slot: number) => ranges.some(([first = 0, last = first]) => slot >= first && slot <= last)
  const shards = createShards(SHARDS)
  const slotOfGroup = (group: GroupKey) => slotOf(/\{(.+?)\}/.exec(shards.place(group).key)?.[1] ?? '')
  const groups = Array.from({ length: 40 * KEYS }, () => `s:api:${randomUUID()}` as GroupKey)
  return groups
    .filter((group) => holds(slotOfGroup(group)))
    .slice(0, KEYS)
    .map((group) => ({ ...bucketRef(group, 'k' as BucketKey), rule: RULE, enforced: true }))
}

const take = async (store: BucketStore | undefined, asked: AskedBucket) => {
  const outcome = await store?.take({ cost: 1, buckets: [asked] })
  return outcome?.kind === 'counted' && outcome.granted
}

const faults: Readonly<Record<string, (machine: Machine) => Promise<void>>> = {
  'machine crash, replication stalled': (machine) => machine.crash(),
  'restart empty': (machine) => machine.restartEmpty(),
  FLUSHALL: async (machine) => void machine.cli('FLUSHALL'),
}

type Row = {
  readonly fault: string
  readonly witnesses: string
  readonly rounds: number
  readonly mean: number
  readonly max: number
}

test('what a cluster loses is admitted again without witnesses, and hardly with them', async () => {
  await using network = await startMachines(6)
  const { machines } = network
  const addresses = machines.map(({ address }) => address)
  const first = machines[0]
  if (first === undefined) throw new Error('no machine')
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']
  execFileSync('redis-cli', create, { stdio: 'ignore' })
  const rows: Row[] = []

  const round = async (fault: string, witnessing: boolean) => {
    await until(() => machines.every(isSettled), 60_000)
    await until(() => machines.every(({ cli }) => cli('CLUSTER', 'INFO').includes('cluster_state:ok')), 60_000)
    await using stack = new AsyncDisposableStack()
    const limiters: BucketStore[] = []
    for (let index = 0; index < LIMITERS; index += 1)
      limiters.push(
        stack.use(await openOrThrow(`redis-cluster://${addresses.join(',')}`, { witnessing, deadlineMs: 1_000 })),
      )
    const victim = machines.find(isPrimary)
    if (victim === undefined) throw new Error('no primary')
    const buckets = bucketsOn(victim)
    const startMs = performance.now()
    const isCrash = fault.startsWith('machine')
    if (isCrash) victim.stallReplication()
    const admitted = await Promise.all(
      buckets.map(async (asked) => {
        let count = 0
        for (let turn = 0; turn < SPENT; turn += 1) if (await take(limiters[turn % LIMITERS], asked)) count += 1
        return count
      }),
    )
    await faults[fault]?.(victim)
    // Everyone asks without a pause, through the outage and after it, until each bucket has refused each limiter.
    await Promise.all(
      buckets.flatMap((asked, index) =>
        limiters.map(async (limiter) => {
          for (let refusals = 0; refusals < 3; ) {
            const outcome = await limiter.take({ cost: 1, buckets: [asked] })
            if (outcome.kind === 'unavailable') await new Promise((resolve) => setTimeout(resolve, 20))
            else if (outcome.granted) admitted[index] = (admitted[index] ?? 0) + 1
            else refusals += 1
          }
        }),
      ),
    )
    const refilled = (performance.now() - startMs) / 2_000
    if (isCrash) await victim.repair()
    return admitted.map((count) => Math.max(0, count - CAPACITY - refilled))
  }

  for (const fault of Object.keys(faults))
    for (const witnessing of [false, true]) {
      const over: number[] = []
      for (let index = 0; index < ROUNDS; index += 1) over.push(...(await round(fault, witnessing)))
      const mean = over.reduce((sum, one) => sum + one, 0) / over.length
      rows.push({ fault, witnesses: witnessing ? 'on' : 'off', rounds: ROUNDS, mean, max: Math.max(...over) })
      console.info(JSON.stringify(rows.at(-1)))
    }
  console.table(rows.map((row) => ({ ...row, mean: row.mean.toFixed(1), max: row.max.toFixed(1) })))
  for (const { witnesses, mean, max, fault } of rows) {
    if (witnesses === 'off') expect(mean, fault).toBeGreaterThan(SPENT / 2)
    else {
      expect(mean, fault).toBeLessThan(0.05 * CAPACITY)
      expect(max, fault).toBeLessThan(0.2 * CAPACITY)
    }
  }
}, 600_000)
