import { setTimeout as sleep } from 'node:timers/promises'
import { formatTotals } from '../conservation/totals.ts'
import { awaitTrue } from './await.ts'
import type { Pod } from './cluster.ts'
import { type Installation, release, setValues } from './installation.ts'
import { type Seen, startLoad } from './load.ts'
import { describeLocal, type LocalDecisions, totalOf, watchDecisions } from './metrics.ts'
import { runOutOfMemory } from './out-of-memory.ts'
import { primaryPods } from './redis-primaries.ts'
import { failuresOf, overAdmission, proRule, sayProblems } from './verdicts.ts'

const RATE_PER_S = 40
const STEADY_MS = 5_000
/** Of lost writes a tenth of a bucket, and 12 % of it of limiters that count their shares while Redis is away (load-tests/lib/fault-bound.ts). */
const OVER_TOKENS = 0.22 * proRule.capacityTokens

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
  const [name] = await primaryPods(kubectl)
  if (name === undefined) throw new Error('no pod is a primary')
  return name
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
      await installation.kubectl.do('delete', 'pod', primary, '--wait=false')
      await renewed(installation, 'redis', 6, before, 1)
    },
  },
  {
    name: 'a Redis primary is killed without a word',
    exact: false,
    strike: async (installation) => {
      const before = await installation.kubectl.pods('redis')
      const primary = await primaryPod(installation)
      // A pod that is deleted hands over first, so its process goes before it.
      await installation.kubectl.try('exec', primary, '--', 'redis-cli', 'SHUTDOWN', 'NOSAVE', 'NOW', 'FORCE')
      await installation.kubectl.do('delete', 'pod', primary, '--wait=false', '--force', '--grace-period=0')
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

const firstInexact = faults.findIndex(({ exact }) => !exact)

type Row = { readonly name: string; readonly seen: Seen; readonly local: LocalDecisions }

/** What the cluster does to pods; everything recovers without a hand, and what was admitted beyond the law is within its bound. */
export const checkFaults = async (installation: Installation, keys: readonly string[]) => {
  const { kubectl, upgrade, report } = installation
  const rows: Row[] = []
  for (const [index, fault] of faults.entries()) {
    // Elsewhere everybody waits for Redis rather than decide alone; here Redis goes, and whoever waits for it keeps its callers waiting.
    if (index === firstInexact)
      await upgrade(...setValues({ 'limiter.storeDeadlineMs': 200, 'api.limiter.deadlineMs': 1000 }))
    rows.push(await tryFault(installation, fault, keys[index] ?? ''))
  }
  report.say(
    formatTotals(
      rows.map(({ name, seen, local }) => ({
        name,
        totals: { ...overAdmission(seen).totals, decidedLocally: totalOf(local) },
      })),
    ),
  )

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
  await upgrade(...setValues({ 'limiter.storeDeadlineMs': 2000, 'api.limiter.deadlineMs': 5000 }))
}

const tryFault = async (installation: Installation, { name, strike, exact }: Fault, key: string): Promise<Row> => {
  const { kubectl, cluster, report } = installation
  const { claim, say } = report
  await using watch = watchDecisions(kubectl)
  await using load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url: `http://${release}-api/v1/orders?limit=1`,
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
  const local = await watch.stop()
  claim(`${name}: everything recovers without a hand`, true, `${seconds.toFixed(0)} s`)
  const failures = failuresOf(seen)
  claim(`${name}: every request is answered`, failures === 0, `${failures} of ${seen.calls.length} failed`)
  sayProblems(seen.problems, say)
  const { worstWindowTokens } = overAdmission(seen)
  const figures = `${worstWindowTokens.toFixed(1)} tokens over the law in the worst window; decided locally: ${describeLocal(local)}`
  if (exact) claim(`${name}: the count stays exact`, worstWindowTokens === 0 && totalOf(local) === 0, figures)
  else
    claim(
      `${name}: at most ${OVER_TOKENS} tokens are admitted beyond the law`,
      worstWindowTokens <= OVER_TOKENS,
      figures,
    )
  return { name, seen, local }
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
