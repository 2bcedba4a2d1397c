import { setTimeout as sleep } from 'node:timers/promises'
import { formatTotals } from '../conservation/totals.ts'
import { awaitTrue } from './await.ts'
import type { Pod } from './cluster.ts'
import { type Installation, release } from './installation.ts'
import { type Seen, startLoad } from './load.ts'
import { watchDecisions } from './metrics.ts'
import { runOutOfMemory } from './out-of-memory.ts'
import { failuresOf, overAdmission } from './verdicts.ts'

const RATE_PER_S = 40
const STEADY_MS = 5_000

type Fault = {
  readonly name: string
  /** Does the damage; resolves when the cluster says that all is well again. */
  readonly strike: (installation: Installation) => Promise<void>
  /** Faults that must not be noticed at all. */
  readonly exact: boolean
}

const areReady = async ({ kubectl }: Installation, component: string, count: number) => {
  const pods = await kubectl.pods(component)
  return pods.length === count && pods.every(({ ready }) => ready)
}

/** That `count` pods are ready, none of which is one of those before (or has been restarted since). */
const renewed = async (
  installation: Installation,
  component: string,
  count: number,
  before: readonly Pod[],
  anew: number,
) => {
  const ids = new Set(before.map(({ name, address, restarts }) => `${name} ${address} ${restarts}`))
  await awaitTrue(`${component}: ${anew} anew, ${count} ready`, 300_000, async () => {
    const now = await installation.kubectl.pods(component)
    return (
      now.filter(({ name, address, restarts }) => !ids.has(`${name} ${address} ${restarts}`)).length >= anew &&
      (await areReady(installation, component, count))
    )
  })
}

const primaryPod = async ({ kubectl }: Installation) => {
  const nodes = await kubectl.do('exec', `${release}-redis-0`, '--', 'redis-cli', 'cluster', 'nodes')
  const address = /(?<address>[\d.]+):6379\S* (?:myself,)?master - \S+ \S+ \S+ connected \d/.exec(nodes)?.groups?.[
    'address'
  ]
  const pod = (await kubectl.pods('redis')).find((one) => one.address === address)
  if (pod === undefined) throw new Error(`no pod is the primary at ${address}:\n${nodes}`)
  return pod
}

const faults: readonly Fault[] = [
  {
    name: 'a limiter pod is deleted',
    exact: true,
    strike: async (installation) => {
      const before = await installation.kubectl.pods('limiter')
      await installation.kubectl.do('delete', 'pod', before[0]?.name ?? '', '--wait=false')
      await renewed(installation, 'limiter', 2, before, 1)
    },
  },
  {
    name: 'a limiter runs out of memory and is killed',
    exact: false,
    strike: async (installation) => {
      const [victim] = await installation.kubectl.pods('limiter')
      if (victim === undefined) throw new Error('no limiter')
      await runOutOfMemory(installation.kubectl, victim, 'limiter', 'limiter')
    },
  },
  {
    name: 'a Redis primary pod is deleted',
    exact: false,
    strike: async (installation) => {
      const before = await installation.kubectl.pods('redis')
      const primary = await primaryPod(installation)
      await installation.kubectl.do('delete', 'pod', primary.name, '--wait=false')
      await renewed(installation, 'redis', 6, before, 1)
    },
  },
  {
    name: 'a Redis primary is killed without a word',
    exact: false,
    strike: async (installation) => {
      const before = await installation.kubectl.pods('redis')
      const primary = await primaryPod(installation)
      await installation.kubectl.do('delete', 'pod', primary.name, '--wait=false', '--force', '--grace-period=0')
      await renewed(installation, 'redis', 6, before, 1)
    },
  },
  {
    name: 'all Redis pods are deleted at once, and come back with other addresses',
    exact: false,
    strike: async (installation) => {
      const before = await installation.kubectl.pods('redis')
      const names = before.map(({ name }) => name)
      await installation.kubectl.do('delete', 'pod', ...names, '--wait=false', '--force', '--grace-period=0')
      await renewed(installation, 'redis', 6, before, 6)
    },
  },
]

/** What the cluster does to pods; everything recovers without a hand, and what was admitted beyond the law is measured. */
export const checkFaults = async (installation: Installation, keys: readonly string[]) => {
  const { kubectl, cluster, report } = installation
  const url = `http://${release}-api/v1/orders?limit=1`
  const rows: {
    readonly name: string
    readonly seen: Seen
    readonly decidedLocally: number
    readonly seconds: number
  }[] = []
  for (const [index, { name, strike, exact }] of faults.entries()) {
    const watch = watchDecisions(kubectl)
    const key = keys[index] ?? ''
    const load = await startLoad({
      kubectl,
      image: cluster.images.k6,
      url,
      key,
      ratePerS: RATE_PER_S,
      connections: 'kept',
    })
    await sleep(STEADY_MS)
    const startMs = performance.now()
    await strike(installation)
    const seconds = (performance.now() - startMs) / 1000
    await sleep(STEADY_MS)
    const seen = await load.stop()
    const { decidedLocally } = await watch.stop()
    rows.push({ name, seen, decidedLocally, seconds })
    report.claim(`${name}: everything recovers without a hand`, true, `${seconds.toFixed(0)} s`)
    const failures = failuresOf(seen)
    report.claim(`${name}: every request is answered`, failures === 0, `${failures} of ${seen.calls.length} failed`)
    for (const [problem, count] of seen.problems) report.say(`${count} × ${problem}`)
    if (exact)
      report.claim(
        `${name}: the count stays exact`,
        overAdmission(seen).worstWindowTokens === 0 && decidedLocally === 0,
        `${decidedLocally} decided locally`,
      )
  }
  report.say(
    formatTotals(
      rows.map(({ name, seen, decidedLocally }) => ({
        name,
        totals: { ...overAdmission(seen).totals, decidedLocally },
      })),
    ),
  )
  for (const { name, seen } of rows)
    report.say(`worst window over the law: ${overAdmission(seen).worstWindowTokens.toFixed(1)} tokens (${name})`)

  const info = await kubectl.do('exec', `${release}-redis-0`, '--', 'redis-cli', 'cluster', 'nodes')
  const lines = info.trim().split('\n')
  report.claim(
    'the Redis Cluster is whole after all that: six nodes, three primaries, nobody forgotten or failing',
    lines.length === 6 &&
      lines.filter((line) => /connected \d/.test(line)).length === 3 &&
      !/fail|noaddr|handshake/.test(info),
    `${lines.length} nodes`,
  )
  await checkEviction(installation)
}

/** The eviction API is what `kubectl drain` uses. */
const checkEviction = async ({ kubectl, report: { claim } }: Installation) => {
  for (const component of ['limiter', 'api', 'redis']) {
    const pods = await kubectl.pods(component)
    const evict = async ({ name }: Pod) => {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: kubectl.namespace } }
      const path = `/api/v1/namespaces/${kubectl.namespace}/pods/${name}/eviction`
      return kubectl.tryCreate(path, eviction)
    }
    const [first, second] = pods
    if (first === undefined || second === undefined) throw new Error(`fewer than two pods of ${component}`)
    const one = await evict(first)
    const two = await evict(second)
    claim(
      `${component}: one pod may be evicted, a second at the same time may not`,
      one.code === 0 && two.code !== 0 && /disruption budget/.test(two.stderr),
      two.stderr.trim().slice(0, 120),
    )
    await awaitTrue(`${component} is whole again`, 300_000, async () => {
      const now = await kubectl.pods(component)
      return (
        now.length === pods.length &&
        now.every(({ ready }) => ready) &&
        now.some(({ address }) => !pods.some((pod) => pod.address === address))
      )
    })
  }
}
