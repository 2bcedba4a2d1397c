import type { ApiServer } from './api-server.ts'
import { run, runOrThrow } from './shell.ts'

/** Images as the cluster knows them. Two of Weir, equal but for their tag. */
export type Images = {
  readonly weir: { readonly repository: string; readonly tags: readonly [string, string] }
  readonly redis: { readonly repository: string; readonly tag: string }
  readonly postgres: { readonly repository: string; readonly tag: string }
  /** With a shell and k6. */
  readonly k6: string
  readonly nginx: string
}

/** A Kubernetes that is up and has the images. */
export type Cluster = AsyncDisposable & {
  readonly name: string
  readonly images: Images
}

/** kubectl within one namespace. */
export type Kubectl = ReturnType<typeof createKubectl>

export type Pod = {
  readonly name: string
  readonly address: string
  readonly ready: boolean
  readonly restarts: number
}

type PodList = {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
    readonly status: {
      readonly podIP?: string
      readonly conditions?: readonly { readonly type: string; readonly status: string }[]
      readonly containerStatuses?: readonly { readonly restartCount: number }[]
      readonly initContainerStatuses?: readonly { readonly restartCount: number }[]
    }
  }[]
}

export const createKubectl = (namespace: string, apiServer: ApiServer) => {
  const args = (rest: readonly string[]) => ['--namespace', namespace, ...rest]
  const read = (path: string) => apiServer.read(`/api/v1/namespaces/${namespace}/${path}`)
  const list = async (selector: string) =>
    (JSON.parse(await read(`pods?labelSelector=${encodeURIComponent(selector)}`)) as PodList).items
  const isEnding = ({ metadata }: PodList['items'][number]) => metadata.deletionTimestamp !== undefined
  return {
    namespace,
    /** Throws when it fails. */
    do: (...rest: readonly string[]) => runOrThrow('kubectl', args(rest), { deadlineMs: 300_000 }),
    try: (...rest: readonly string[]) => run('kubectl', args(rest), { deadlineMs: 120_000 }),
    apply: (manifest: object) => runOrThrow('kubectl', args(['apply', '-f', '-']), { input: JSON.stringify(manifest) }),
    /** Those of a component that are not on their way out. */
    pods: async (component: string): Promise<readonly Pod[]> => {
      const found = await list(`app.kubernetes.io/component=${component}`)
      return found
        .filter((pod) => !isEnding(pod))
        .map(({ metadata, status }) => ({
          name: metadata.name,
          address: status.podIP ?? '',
          ready: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
          restarts: [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].reduce(
            (sum, { restartCount }) => sum + restartCount,
            0,
          ),
        }))
    },
    /** Whether a pod of the chart is on its way out. */
    isAnyPodEnding: async () => (await list('app.kubernetes.io/part-of=weir')).some(isEnding),
    /** Sends an object to a path of the API server. */
    tryCreate: (path: string, object: object) =>
      run('kubectl', ['create', '--raw', path, '-f', '-'], { input: JSON.stringify(object) }),
    /** What a pod's port answers, through the API server. */
    page: (pod: string, port: number, path: string) => read(`pods/${pod}:${port}/proxy${path}`),
  }
}
