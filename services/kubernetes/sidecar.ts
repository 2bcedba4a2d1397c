import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { awaitTrue, awaitValue } from './await.ts'
import { chart, type Installation, release, setValues } from './installation.ts'
import { startLoad } from './load.ts'
import { DECIDED_BY_FALLBACK, DECIDED_BY_LIMITER, parseMetrics, sumOf, watchDecisions } from './metrics.ts'
import { runOutOfMemory } from './out-of-memory.ts'
import { claimExact, failuresOf, percentile } from './verdicts.ts'

const RATE_PER_S = 40
const MEASURED_MS = 20_000

const measure = async ({ kubectl, cluster }: Installation, key: string) => {
  const url = `http://${release}-api/v1/orders?limit=1`
  await using load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url,
    key,
    ratePerS: RATE_PER_S,
    connections: 'kept',
  })
  await sleep(MEASURED_MS)
  return await load.stop()
}

/** The same API with a limiter beside each pod, on a Unix socket. */
export const checkSidecar = async (installation: Installation, keys: readonly [string, string, string]) => {
  const { kubectl, upgrade, helm, report } = installation
  const { claim, say } = report
  const service = await measure(installation, keys[0])
  await upgrade(...setValues({ 'limiter.mode': 'sidecar' }))
  const limiters = await kubectl.pods('limiter')
  claim('in sidecar mode no limiter runs by itself', limiters.length === 0, `${limiters.length} limiter pods`)
  const [pod] = await kubectl.pods('api')
  if (pod === undefined) throw new Error('no API pod')

  const address = await kubectl.do(
    'exec',
    pod.name,
    '-c',
    'api',
    '--',
    'sh',
    '-c',
    'echo $API_LIMITER; ls -l /run/weir',
  )
  claim(
    'the API asks over a Unix socket of mode 0660',
    /^unix:\/run\/weir\/limiter\.sock$/m.test(address) && /^srw-rw----/m.test(address),
    address.trim().split('\n').at(-1),
  )
  await using watch = watchDecisions(kubectl, 'api')
  const sidecar = await measure(installation, keys[1])
  claimExact('two sidecars, one bucket', sidecar, await watch.stop(), report)
  const row = (name: string, { latenciesMs }: typeof sidecar) =>
    `${name.padEnd(10)}${[0.5, 0.95, 0.99].map((part) => percentile(latenciesMs, part).toFixed(1).padStart(8)).join('')}`
  say(
    `whole requests, milliseconds at ${RATE_PER_S} requests/s${'\n'}${''.padEnd(10)}     p50     p95     p99\n${row('service', service)}\n${row('sidecar', sidecar)}`,
  )

  await checkOrder(installation, pod.name)
  const tested = await helm('test', release, '--logs', '--timeout', '180s')
  claim('helm test passes in sidecar mode', tested.code === 0, tested.code === 0 ? '' : tested.stdout + tested.stderr)

  // A socket whose process was killed stays behind in the volume.
  const [victim] = await kubectl.pods('api')
  await using load = await startLoad({
    kubectl,
    image: installation.cluster.images.k6,
    url: `http://${release}-api/v1/orders?limit=1`,
    key: keys[2],
    ratePerS: RATE_PER_S,
    connections: 'kept',
  })
  if (victim === undefined) throw new Error('no API pod')
  await runOutOfMemory(kubectl, victim, 'api', 'limiter')
  const again = await decisionsAgain(installation, victim.name)
  claim(
    'a sidecar that is killed comes back on its stale socket, and the API asks it again',
    true,
    `then ${again.byLimiter} decisions by it, ${again.byApi} by the API alone`,
  )
  const seen = await load.stop()
  claim(
    'meanwhile the API answers by itself: no request fails',
    failuresOf(seen) === 0,
    `${failuresOf(seen)} of ${seen.calls.length}`,
  )

  await upgrade(...setValues({ 'limiter.mode': 'both' }))
  const both = await kubectl.pods('limiter')
  claim('mode both: sidecars, and limiters for everybody else', both.length === 2, `${both.length} limiter pods`)
  await checkExample(installation)
}

/** Resolves with what a pod of the API decides in three seconds, once these decisions are all its limiter's. */
const decisionsAgain = ({ kubectl }: Installation, pod: string) => {
  const read = async () => parseMetrics(await kubectl.page(pod, 9092, '/metrics'))
  return awaitValue('the API asks its limiter again', 60_000, async () => {
    const before = await read()
    await sleep(3_000)
    const after = await read()
    const byLimiter = sumOf(after, DECIDED_BY_LIMITER) - sumOf(before, DECIDED_BY_LIMITER)
    const byApi = sumOf(after, DECIDED_BY_FALLBACK) - sumOf(before, DECIDED_BY_FALLBACK)
    return byLimiter > 0 && byApi === 0 ? { byLimiter, byApi } : undefined
  })
}

type Deployment = {
  readonly spec: {
    readonly template: { readonly spec: Readonly<Record<'containers' | 'initContainers', readonly object[]>> & object }
  }
}

/** The chart's example, as it is but for the images: a service of one's own that asks the limiter beside it. */
const checkExample = async ({ kubectl, cluster, report: { claim } }: Installation) => {
  const example = parse(await readFile(join(chart, 'examples/sidecar.yaml'), 'utf8')) as Deployment
  const { spec: pod } = example.spec.template
  const { repository, tags } = cluster.images.weir
  const image = `${repository}:${tags[0]}`
  const containers = pod.containers.map((container) => ({
    ...container,
    image,
    command: ['node', '-e', 'setInterval(() => {}, 1e6)'],
  }))
  const initContainers = pod.initContainers.map((container) => ({ ...container, image }))
  const template = { ...example.spec.template, spec: { ...pod, containers, initContainers } }
  await kubectl.apply({ ...example, spec: { ...example.spec, template } })
  await kubectl.do('rollout', 'status', 'deployment/checkout', '--timeout=180s')
  const counted = await kubectl.try(
    ...['exec', 'deployment/checkout', '--container', 'checkout', '--'],
    ...['node', 'services/limiter/verify-count.ts', 'unix:/run/weir/limiter.sock'],
  )
  claim(
    "examples/sidecar.yaml: a service of one's own asks the limiter beside it, which counts exactly",
    counted.code === 0,
    counted.code === 0 ? '' : counted.stderr,
  )
  await kubectl.do('delete', 'deployment', 'checkout')
}

type Status = { readonly name: string; readonly state: { readonly running?: { readonly startedAt: string } } }

/** The sidecar starts before the API, and ends after it. */
const checkOrder = async ({ kubectl, report: { claim } }: Installation, name: string) => {
  const { status } = JSON.parse(await kubectl.do('get', 'pod', name, '-o', 'json')) as {
    readonly status: {
      readonly containerStatuses: readonly Status[]
      readonly initContainerStatuses: readonly Status[]
    }
  }
  const startOf = (statuses: readonly Status[], container: string) =>
    Date.parse(statuses.find((one) => one.name === container)?.state.running?.startedAt ?? '')
  const limiterMs = startOf(status.initContainerStatuses, 'limiter')
  const apiMs = startOf(status.containerStatuses, 'api')
  claim('the sidecar starts before the API', limiterMs <= apiMs, `${(apiMs - limiterMs) / 1000} s before`)

  const follow = (container: string) =>
    kubectl.try('logs', name, '-c', container, '--follow', '--since=1s', '--timestamps')
  const logs = Promise.all([follow('api'), follow('limiter')])
  await kubectl.do('delete', 'pod', name, '--wait=true')
  const [api, limiter] = await logs
  const drainedAt = (log: string) => /^(?<at>\S+) .*"msg":"draining"/m.exec(log)?.groups?.['at'] ?? ''
  claim(
    'the sidecar stops after the API',
    drainedAt(api.stdout) !== '' && drainedAt(api.stdout) < drainedAt(limiter.stdout),
    `API ${drainedAt(api.stdout)}, limiter ${drainedAt(limiter.stdout)}`,
  )
  await awaitTrue('the API is whole again', 180_000, async () => {
    const pods = await kubectl.pods('api')
    return pods.length === 2 && pods.every(({ ready }) => ready)
  })
}
