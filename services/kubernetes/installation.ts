import { fileURLToPath } from 'node:url'
import { openApiServer } from './api-server.ts'
import { awaitTrue, awaitValue } from './await.ts'
import { type Cluster, createKubectl, type Kubectl } from './cluster.ts'
import type { Report } from './report.ts'
import { type Ran, run } from './shell.ts'

export const chart = fileURLToPath(new URL('../../helm/weir', import.meta.url))
export const e2eValues = fileURLToPath(new URL('../../helm/weir/ci/e2e-values.yaml', import.meta.url))
export const release = 'weir'

const HELM_DEADLINE_S = 420

/** The chart in a namespace of its own, which enforces Pod Security "restricted". */
export type Installation = {
  readonly cluster: Cluster
  readonly kubectl: Kubectl
  readonly report: Report
  /** Installs or upgrades, waits until all is ready, and throws when that fails; the values are added to those of before. */
  readonly upgrade: (...set: readonly string[]) => Promise<Ran>
  readonly helm: (...args: readonly string[]) => Promise<Ran>
  /** Makes an API key of the plan, and its line for the file of keys, inside a pod of the API as NOTES.txt says. */
  readonly createKey: (owner: string, plan: 'free' | 'pro') => Promise<{ readonly key: string; readonly line: string }>
}

export const openInstallation = async (
  cluster: Cluster,
  namespace: string,
  report: Report,
): Promise<Installation & AsyncDisposable> => {
  await using opened = new AsyncDisposableStack()
  const kubectl = createKubectl(namespace, opened.use(await openApiServer()))
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: namespace,
      labels: {
        'pod-security.kubernetes.io/enforce': 'restricted',
        'pod-security.kubernetes.io/warn': 'restricted',
      },
    },
  })
  const helm = (...args: readonly string[]) =>
    run('helm', ['--namespace', namespace, ...args], { deadlineMs: (HELM_DEADLINE_S + 30) * 1000 })
  opened.defer(async () => {
    await kubectl.try('delete', 'namespace', namespace, '--wait=true', '--timeout=120s')
  })
  const resources = opened.move()
  let installed = false

  return {
    cluster,
    kubectl,
    report,
    helm,
    upgrade: async (...set) => {
      const values = installed ? ['--reset-then-reuse-values'] : ['--values', e2eValues, ...imageValues(cluster)]
      const ran = await helm(
        ...['upgrade', '--install', release, chart, '--wait', '--timeout', `${HELM_DEADLINE_S}s`],
        ...values,
        ...set,
      )
      if (ran.code !== 0) throw new Error(`helm upgrade failed:\n${ran.stderr}\n${await kubectl.do('get', 'pods')}`)
      installed = true
      await settled(kubectl)
      return ran
    },
    createKey: async (owner, plan) => {
      const program = ['node', 'services/api/create-api-key.ts', '--plan', plan, '--owner', owner]
      const printed = await kubectl.do(
        ...['exec', `deployment/${release}-api`, '--container', 'api', '--', ...program],
        ...['--permissions', 'orders:read,orders:write'],
      )
      const key = /API key .*: (?<key>\S+)/.exec(printed)?.groups?.['key']
      const line = /^\{.*\}$/m.exec(printed)?.[0]
      if (key === undefined || line === undefined) throw new Error(`no key in: ${printed}`)
      return { key, line }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** helm waits for the new pods; this waits until the old ones are gone as well. */
export const settled = (kubectl: Kubectl) =>
  awaitTrue('old pods are gone', 180_000, async () => !(await kubectl.isAnyPodEnding()))

export const imageValues = ({ images: { weir, redis, postgres } }: Pick<Cluster, 'images'>) =>
  setValues({
    'image.repository': weir.repository,
    'image.tag': weir.tags[0],
    'redis.embedded.image.repository': redis.repository,
    'redis.embedded.image.tag': redis.tag,
    'database.embedded.image.repository': postgres.repository,
    'database.embedded.image.tag': postgres.tag,
  })

export const setValues = (values: Readonly<Record<string, string | number | boolean>>) =>
  Object.entries(values).flatMap(([name, value]) => [
    typeof value === 'string' ? '--set-string' : '--set',
    `${name}=${value}`,
  ])

/** Scales limiter and API, and waits until exactly that many are ready and no other is left. */
export const scale = async ({ kubectl }: Installation, replicas: number, components: readonly string[]) => {
  for (const component of components)
    await kubectl.do('scale', `deployment/${release}-${component}`, `--replicas=${replicas}`)
  for (const component of components)
    await awaitValue(`${replicas} pods of ${component}`, 240_000, async () => {
      const pods = await kubectl.pods(component)
      return pods.length === replicas && pods.every(({ ready }) => ready) ? pods : undefined
    })
  await settled(kubectl)
}
