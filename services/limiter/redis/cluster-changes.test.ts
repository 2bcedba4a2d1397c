import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { until } from '../../platform/service.fixture.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { silentStoreObserver } from './observe-run.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { type RedisCluster, redisCli, startCluster, startClusterNode } from './redis-server.fixture.ts'

const CAPACITY = 20
const SUBJECTS = 300
const IN_FLIGHT = 40
/** So slow that nothing flows in during a test. */
const rule = (capacityTokens: number) => ({ capacityTokens, refillTokens: 1, periodS: 86_400 })

const openLimiters = async (cluster: RedisCluster, count: number) => {
  const stack = new AsyncDisposableStack()
  const stores: BucketStore[] = []
  const failures: string[] = []
  const observer = { ...silentStoreObserver, failed: (error: Error) => failures.push(error.message) }
  for (let index = 0; index < count; index += 1)
    stores.push(stack.use(await openOrThrow(cluster.address, { onError: observer.failed, observer })))
  return { stores, failures, [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose]() }
}

/**
 * Several limiters take from the buckets of many subjects without a pause while the cluster changes, each subject with two policies
 * of which the narrower decides; more is asked than there is.
 */
const takeWhile = async (stores: readonly BucketStore[], change: () => Promise<void>) => {
  const run = randomUUID()
  const granted = new Map<number, number>()
  let unavailable = 0
  let offered = 0
  const bucketsOf = (subject: number): readonly AskedBucket[] => {
    const group = `s:api:${run}-${subject}` as GroupKey
    return [
      { ...bucketRef(group, 'narrow' as BucketKey), rule: rule(CAPACITY), enforced: true },
      { ...bucketRef(group, 'wide' as BucketKey), rule: rule(CAPACITY * 2), enforced: true },
    ]
  }
  const ask = async (store: BucketStore, subject: number) => {
    offered += 1
    const outcome = await store.take({ cost: 1, buckets: bucketsOf(subject) })
    if (outcome.kind === 'unavailable') unavailable += 1
    else if (outcome.granted) granted.set(subject, (granted.get(subject) ?? 0) + 1)
  }
  let changing = true
  const changed = change().finally(() => {
    changing = false
  })
  const callers = Array.from({ length: IN_FLIGHT }, async (_, caller) => {
    const store = stores[caller % stores.length]
    if (store === undefined) return
    for (let turn = caller; changing || turn < caller + SUBJECTS * CAPACITY * 0.1; turn += 1)
      await ask(store, (turn * 7) % SUBJECTS)
  })
  await changed
  await Promise.all(callers)
  // Whatever was not asked for often enough is asked for now: then each subject has had exactly its capacity.
  for (let subject = 0; subject < SUBJECTS; subject += 1)
    for (const store of stores)
      while ((granted.get(subject) ?? 0) < CAPACITY && (await again(store, subject, ask, granted)));
  return { offered, unavailable, admitted: [...granted.values()] }
}

const again = async (
  store: BucketStore,
  subject: number,
  ask: (store: BucketStore, subject: number) => Promise<void>,
  granted: ReadonlyMap<number, number>,
) => {
  const before = granted.get(subject) ?? 0
  await ask(store, subject)
  return (granted.get(subject) ?? 0) > before
}

const expectExact = ({ unavailable, admitted }: Awaited<ReturnType<typeof takeWhile>>, failures: readonly string[]) => {
  expect(unavailable, failures.join('\n')).toBe(0)
  expect(admitted).toEqual(Array(SUBJECTS).fill(CAPACITY))
}

const cli = (...options: readonly string[]) =>
  new Promise<string>((resolve, reject) => {
    const child = spawn('redis-cli', options)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    child.once('close', (code) => (code === 0 ? resolve(output) : reject(new Error(output))))
  })

const nodeId = (port: number) => redisCli(port, 'CLUSTER', 'MYID')
const isPrimary = (port: number) => redisCli(port, 'ROLE').startsWith('master')

/** Redis gives a failover up by itself when the replica is not ready for it: then it is asked for again. */
const promote = async (port: number) => {
  while (!isPrimary(port)) {
    redisCli(port, 'CLUSTER', 'FAILOVER')
    await until(() => isPrimary(port), 2_000).catch(() => {})
  }
}

/** Nobody has asked this node to run the script for a while. */
const isLeftAlone = async (port: number) => {
  const calls = () =>
    /^cmdstat_evalsha:calls=(\d+),.*rejected_calls=(\d+)/m
      .exec(redisCli(port, 'INFO', 'commandstats'))
      ?.slice(1)
      .join()
  const before = calls()
  await new Promise((resolve) => setTimeout(resolve, 300))
  return calls() === before
}

test('slots move under load: every take is answered, every subject gets exactly its capacity', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  await using limiters = await openLimiters(cluster, 3)
  const [from, to] = cluster.nodes.map(({ port }) => port)
  if (from === undefined || to === undefined) throw new Error('no nodes')
  const result = await takeWhile(limiters.stores, async () => {
    await cli(
      '--cluster',
      'reshard',
      `127.0.0.1:${from}`,
      '--cluster-from',
      nodeId(from),
      '--cluster-to',
      nodeId(to),
      '--cluster-slots',
      '2000',
      '--cluster-yes',
      '--cluster-pipeline',
      '1',
    )
  })
  expectExact(result, limiters.failures)
}, 300_000)

test('a subject whose slot is on its way, with buckets on both sides of it, is still charged all or nothing', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  await using limiters = await openLimiters(cluster, 2)
  const [source, target] = cluster.nodes.map(({ port }) => port)
  if (source === undefined || target === undefined) throw new Error('no nodes')
  // Every slot of the shards on the first node stays half-way during the whole load: keys there answer ASK, absent ones too.
  const slots = Array.from({ length: 64 }, (_, shard) => shard * 256).filter((slot) => slot < 5_461)
  const [sourceId, targetId] = [nodeId(source), nodeId(target)]
  // Never waiting for a child in between: the limiters are in this process, and their takes' time would run out.
  const ask = (port: number, ...command: readonly string[]) => cli('-p', `${port}`, ...command)
  const keysIn = async (slot: number, most: number) =>
    (await ask(source, 'CLUSTER', 'GETKEYSINSLOT', `${slot}`, `${most}`)).split('\n').filter((key) => key !== '')
  const move = async (keys: readonly string[]) => {
    for (const key of keys) await ask(source, 'MIGRATE', '127.0.0.1', `${target}`, key, '0', '5000')
  }
  const result = await takeWhile(limiters.stores, async () => {
    for (const slot of slots) {
      await ask(target, 'CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', sourceId)
      await ask(source, 'CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', targetId)
      await move(await keysIn(slot, 3))
    }
    for (const slot of slots) {
      await move(await keysIn(slot, 10_000))
      for (const port of [target, source]) await ask(port, 'CLUSTER', 'SETSLOT', `${slot}`, 'NODE', targetId)
    }
  })
  expectExact(result, limiters.failures)
}, 200_000)

test('the script is flushed on every node again and again: nobody is refused for it', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  await using limiters = await openLimiters(cluster, 2)
  const result = await takeWhile(limiters.stores, async () => {
    for (let round = 0; round < 20; round += 1) {
      for (const { port } of cluster.nodes) redisCli(port, 'SCRIPT', 'FLUSH')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })
  expectExact(result, limiters.failures)
}, 300_000)

test('every replica is promoted by hand in turn: every take is answered, and counted once', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 1 })
  await using limiters = await openLimiters(cluster, 3)
  const replicas = cluster.nodes.map(({ port }) => port).filter((port) => !isPrimary(port))
  expect(replicas).toHaveLength(3)
  const result = await takeWhile(limiters.stores, async () => {
    for (const port of replicas) {
      await until(() => redisCli(port, 'INFO', 'replication').includes('master_link_status:up'))
      await promote(port)
    }
  })
  expectExact(result, limiters.failures)
}, 300_000)

test('every node is restarted in turn, a primary after it has handed over: at most what was on its way stays open, and none counts twice', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 1 })
  await using limiters = await openLimiters(cluster, 2)
  const ports = cluster.nodes.map(({ port }) => port)
  const isInSync = (port: number) =>
    isPrimary(port) || redisCli(port, 'INFO', 'replication').includes('master_link_status:up')
  const result = await takeWhile(limiters.stores, async () => {
    for (const node of cluster.nodes) {
      await until(() => ports.every(isInSync))
      if (isPrimary(node.port)) {
        const replica = ports.find((port) => redisCli(port, 'INFO', 'replication').includes(`master_port:${node.port}`))
        if (replica === undefined) throw new Error('a primary without a replica')
        await promote(replica)
        await until(() => !isPrimary(node.port))
        // What is still on its way to it gets redirected; a node that ended at once would leave its fate open.
        await until(() => isLeftAlone(node.port))
      }
      await node.restart()
    }
    await until(() => ports.every(isInSync))
  })
  // A connection that ends with a take on it leaves open whether that was charged: the limiter then decides by itself.
  expect(result.unavailable).toBeLessThanOrEqual(IN_FLIGHT * cluster.nodes.length)
  expect(Math.max(...result.admitted)).toBeLessThanOrEqual(CAPACITY)
  const missing = SUBJECTS * CAPACITY - result.admitted.reduce((sum, one) => sum + one, 0)
  expect(missing).toBeLessThanOrEqual(result.unavailable)
}, 300_000)

test('a primary joins and one leaves: every take is answered, every subject gets exactly its capacity', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  await using limiters = await openLimiters(cluster, 2)
  await using joining = await startClusterNode()
  const [first, second] = cluster.nodes.map(({ port }) => port)
  if (first === undefined || second === undefined) throw new Error('no nodes')
  const all = [...cluster.nodes, joining].map(({ port }) => port)
  const settled = () =>
    until(async () => {
      const states = all.map((port) => redisCli(port, 'CLUSTER', 'INFO'))
      if (!states.every((state) => state.includes('cluster_known_nodes:4') && state.includes('cluster_state:ok')))
        return false
      const checked = await cli('--cluster', 'check', `127.0.0.1:${first}`).catch(() => '')
      return checked.includes('[OK] All nodes agree') && checked.includes('[OK] All 16384 slots covered')
    })
  const result = await takeWhile(limiters.stores, async () => {
    await cli('--cluster', 'add-node', `127.0.0.1:${joining.port}`, `127.0.0.1:${first}`)
    await settled()
    const slots =
      new RegExp(`:${second} .*\\| (\\d+) slots`).exec(await cli('--cluster', 'info', `127.0.0.1:${first}`))?.[1] ?? ''
    const everything = [
      '--cluster-from',
      nodeId(second),
      '--cluster-to',
      nodeId(joining.port),
      '--cluster-slots',
      slots,
    ]
    await cli('--cluster', 'reshard', `127.0.0.1:${first}`, ...everything, '--cluster-yes')
    await settled()
    await cli('--cluster', 'del-node', `127.0.0.1:${first}`, nodeId(second))
  })
  expectExact(result, limiters.failures)
}, 300_000)
