import { awaitTrue } from './await.ts'
import { type Installation, release, settled, setValues } from './installation.ts'
import { startLoad } from './load.ts'
import { watchDecisions } from './metrics.ts'
import { primaryPods } from './redis-primaries.ts'
import { claimExact } from './verdicts.ts'

const RATE_PER_S = 40
/** The kubelet looks at a ConfigMap about once a minute. */
const POLICIES_DEADLINE_S = 90

type Policies = { readonly digest: string; readonly lastReload: string; readonly generation: number }

const policiesOf = async ({ kubectl }: Installation): Promise<readonly Policies[]> =>
  Promise.all(
    (await kubectl.pods('limiter')).map(
      async ({ name }) => JSON.parse(await kubectl.page(name, 9091, '/policies')) as Policies,
    ),
  )

/** New image, new policies, other Redis settings, back again and a restart, all under load: nobody notices, and nothing is forgotten. */
export const checkUpgrades = async (installation: Installation, key: string) => {
  const { kubectl, cluster, upgrade, helm, report } = installation
  const { claim, say } = report
  const url = `http://${release}-api/v1/orders?limit=1`
  const [, secondTag] = cluster.images.weir.tags
  await using watch = watchDecisions(kubectl)
  await using load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url,
    key,
    ratePerS: RATE_PER_S,
    connections: 'kept',
  })
  const timed = async (what: string, work: () => Promise<unknown>) => {
    const startMs = performance.now()
    await work()
    say(`${what}: ${((performance.now() - startMs) / 1000).toFixed(0)} s`)
  }

  await reloadPolicies(installation)
  await refusePolicies(installation)

  const primariesBefore = await primaryPods(kubectl)
  await timed('helm upgrade with other Redis settings: each Redis hands over, then restarts', () =>
    upgrade(...setValues({ 'redis.embedded.config.hz': '20' })),
  )
  const hz = await kubectl.do('exec', `${release}-redis-0`, '--', 'redis-cli', 'config', 'get', 'hz')
  claim('the Redis setting is in force', /\b20\b/.test(hz))
  const primaries = await primaryPods(kubectl)
  claim(
    'every primary handed over to its replica before it stopped',
    primaries.length === primariesBefore.length && !primaries.some((name) => primariesBefore.includes(name)),
    `${primariesBefore.join(', ')} → ${primaries.join(', ')}`,
  )

  await timed('helm upgrade to another image', () => upgrade(...setValues({ 'image.tag': secondTag })))
  const images = await kubectl.do(
    'get',
    'pods',
    '-l',
    'app.kubernetes.io/part-of=weir',
    '-o',
    'jsonpath={.items[*].spec.containers[*].image}',
  )
  claim(
    'every limiter and API runs the new image',
    images.split(' ').filter((image) => image.endsWith(`:${secondTag}`)).length === 4,
    images,
  )
  await timed('helm rollback', async () => {
    const rolledBack = await helm('rollback', release, '--wait', '--timeout', '300s')
    if (rolledBack.code !== 0) throw new Error(rolledBack.stderr)
    await settled(kubectl)
  })
  await timed('kubectl rollout restart of limiter and API', async () => {
    await kubectl.do('rollout', 'restart', `deployment/${release}-limiter`, `deployment/${release}-api`)
    for (const component of ['limiter', 'api'])
      await kubectl.do('rollout', 'status', `deployment/${release}-${component}`, '--timeout=240s')
    await settled(kubectl)
  })

  const seen = await load.stop()
  const local = await watch.stop()
  say(`${seen.calls.length} requests; ${local.pods} pods of limiter and API took part`)
  claimExact('upgraded, rolled back and restarted under load', seen, local, report)
}

type Values = { readonly policies: readonly { readonly policies: readonly { readonly capacity: number }[] }[] }

/** The policies of before, but the first has another capacity. */
const withOneMoreToken = ({ stdout }: { readonly stdout: string }) =>
  (JSON.parse(stdout) as Values).policies.map((document) => ({
    ...document,
    policies: document.policies.map((policy, index) =>
      index === 0 ? { ...policy, capacity: policy.capacity + 1 } : policy,
    ),
  }))

const reloadPolicies = async (installation: Installation) => {
  const { upgrade, helm, report } = installation
  const before = await policiesOf(installation)
  const startMs = performance.now()
  await upgrade(
    '--set-json',
    `policies=${JSON.stringify(withOneMoreToken(await helm('get', 'values', release, '--output', 'json')))}`,
  )
  await awaitTrue('every limiter has the new policies', 180_000, async () => {
    const now = await policiesOf(installation)
    return new Set(now.map(({ digest }) => digest)).size === 1 && now[0]?.digest !== before[0]?.digest
  })
  const seconds = (performance.now() - startMs) / 1000
  const now = await policiesOf(installation)
  report.claim(
    `new policies are in force in every limiter within ${POLICIES_DEADLINE_S} s, without a restart, and /policies shows it`,
    seconds <= POLICIES_DEADLINE_S && now.every(({ generation }) => generation > 1),
    `${seconds.toFixed(0)} s, generations ${now.map(({ generation }) => generation).join(', ')}`,
  )
}

/** A mistake that only a limiter finds: two policies of one name. */
const refusePolicies = async (installation: Installation) => {
  const { kubectl, report } = installation
  const before = await policiesOf(installation)
  const map = `configmap/${release}-policies`
  const good = JSON.parse(await kubectl.do('get', map, '-o', 'json')) as {
    readonly data: Readonly<Record<string, string>>
  }
  const [file = '', text = ''] = Object.entries(good.data).find(([name]) => name.startsWith('0-')) ?? []
  await kubectl.do(
    'patch',
    map,
    '--type=merge',
    '--patch',
    JSON.stringify({ data: { [file]: text.replace('name: free', 'name: pro') } }),
  )
  await awaitTrue('every limiter has seen the mistake', 180_000, async () =>
    (await policiesOf(installation)).every(({ lastReload }) => lastReload === 'rejected'),
  )
  const now = await policiesOf(installation)
  report.claim(
    'policies with a mistake are rejected by every limiter, visibly, and the last good ones stay in force',
    now.every(({ digest }) => digest === before[0]?.digest),
    'two policies of one name',
  )
  await kubectl.do('patch', map, '--type=merge', '--patch', JSON.stringify({ data: { [file]: text } }))
  await awaitTrue('every limiter has taken the good ones again', 180_000, async () =>
    (await policiesOf(installation)).every(({ lastReload }) => lastReload === 'accepted'),
  )
}
