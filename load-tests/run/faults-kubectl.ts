import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { MetricsPage } from '../lib/process-reading.ts'
import type { Surroundings } from './control.ts'

const execute = promisify(execFile)

/** Of a release of `helm/weir`; the names may be set where they are others. */
const NAMESPACE = process.env['NAMESPACE'] ?? 'weir'
const LIMITER = process.env['LIMITER_DEPLOYMENT'] ?? 'weir-limiter'
const component = (name: string) => `app.kubernetes.io/component=${name}`
/** Admin ports of the containers. */
const ADMIN_PORTS = { limiter: 9091, api: 9092 } as const
const OUTAGE_MS = 20_000

const kubectl = async (...options: readonly string[]) => {
  const { stdout } = await execute('kubectl', ['--namespace', NAMESPACE, ...options], {
    timeout: 240_000,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout.trim()
}

const podsOf = async (name: string) =>
  (await kubectl('get', 'pods', '-l', component(name), '--field-selector=status.phase=Running', '-o', 'name'))
    .split('\n')
    .flatMap((pod) => (pod === '' ? [] : [pod.replace('pod/', '')]))

const redis = (pod: string, command: string) =>
  kubectl('exec', pod, '--', 'sh', '-c', `redis-cli -h 127.0.0.1 ${command}`)

/** Faults and metrics by kubectl, on the cluster of `KUBECONFIG`. Metrics go through the API server. */
export const kubectlSurroundings = (): Surroundings => {
  /** A pod that is gone keeps what it last said. */
  const known = new Map<string, MetricsPage>()
  const pages = async () => {
    for (const kind of ['limiter', 'api'] as const)
      for (const pod of await podsOf(kind)) {
        const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}:${ADMIN_PORTS[kind]}/proxy/metrics`
        known.set(pod, { name: pod, text: await kubectl('get', '--raw', path) })
      }
    return [...known.values()]
  }
  const makeFault = async (fault: string): Promise<string> => {
    const count = /^replicas-(\d+)$/.exec(fault)?.[1]
    if (count !== undefined) {
      await pages()
      await kubectl('scale', `deployment/${LIMITER}`, `--replicas=${count}`)
      await kubectl('rollout', 'status', `deployment/${LIMITER}`, '--timeout=180s')
      return `${(await podsOf('limiter')).length} limiter pods run`
    }
    switch (fault) {
      case 'store-away': {
        const pods = await podsOf('redis')
        // Alive for its peers, deaf to its clients: no failover, no lost data, and it ends by itself.
        await Promise.all(pods.map((pod) => redis(pod, `CLIENT PAUSE ${OUTAGE_MS} ALL`)))
        return `${pods.length} Redis pods pause their clients for ${OUTAGE_MS / 1000} s`
      }
      case 'store-back':
        return 'the pause has ended by itself'
      case 'kill-primary':
        return killPrimary()
      default:
        throw new Error(`kubectl makes no fault ${fault}`)
    }
  }
  return { pages, makeFault }
}

const killPrimary = async () => {
  const pods = await podsOf('redis')
  const seen = await Promise.all(
    pods.map(async (pod) => ({ pod, role: await redis(pod, 'ROLE'), keys: Number(await redis(pod, 'DBSIZE')) })),
  )
  const [victim] = seen.filter(({ role }) => role.startsWith('master')).toSorted((a, b) => b.keys - a.keys)
  if (victim === undefined || victim.keys === 0) throw new Error('no primary holds a bucket')
  // First the process, because a pod that is deleted hands over before it stops; then the pod, or it would be back in a second.
  await redis(victim.pod, 'SHUTDOWN NOSAVE NOW FORCE').catch(() => {})
  await kubectl('delete', 'pod', victim.pod, '--grace-period=0', '--force')
  return `the pod ${victim.pod}, a primary with ${victim.keys} buckets, was ended`
}
