import { fileURLToPath } from 'node:url'
import type { Cluster, Images } from './cluster.ts'
import { openLocalCluster } from './local-cluster.ts'
import { run, runOrThrow } from './shell.ts'

export type FoundCluster =
  | { readonly ok: true; readonly cluster: Cluster }
  | { readonly ok: false; readonly why: string }

const root = fileURLToPath(new URL('../..', import.meta.url))
const BUILD_DEADLINE_MS = 900_000

/** Public images, beside those of Weir that `WEIR_E2E_IMAGES` names or kind is given. */
const publicImages: Omit<Images, 'weir'> = {
  redis: { repository: 'redis', tag: '7.2-bookworm' },
  postgres: { repository: 'postgres', tag: '17-bookworm' },
  k6: 'grafana/k6:1.3.0',
  nginx: 'nginx:1.28-bookworm',
}

/** `KUBECONFIG`, else a kind cluster of this machine, else the one of `WEIR_KUBE`. */
export const findCluster = async (
  environment: Readonly<Record<string, string | undefined>>,
  say: (text: string) => void,
): Promise<FoundCluster> => {
  const { KUBECONFIG: kubeconfig = '', WEIR_KUBE: folder = '', WEIR_E2E_IMAGES: weirImages = '' } = environment
  if (kubeconfig !== '') return ownCluster(kubeconfig, weirImages)
  const kind = await run('kind', ['get', 'clusters'])
  const [kindCluster = ''] = kind.code === 0 ? kind.stdout.trim().split('\n') : []
  if (kindCluster !== '') return { ok: true, cluster: await openKind(kindCluster) }
  if (folder !== '') return { ok: true, cluster: await openLocalCluster(folder, say) }
  return { ok: false, why: 'no Kubernetes: set KUBECONFIG, create a kind cluster, or set WEIR_KUBE' }
}

const ownCluster = (kubeconfig: string, weirImages: string): FoundCluster => {
  const parsed = /^(?<repository>.+):(?<first>[^:,]+),(?<second>[^:,]+)$/.exec(weirImages)?.groups ?? {}
  const { repository, first, second } = parsed
  if (repository === undefined || first === undefined || second === undefined)
    return {
      ok: false,
      why: 'KUBECONFIG is set, so WEIR_E2E_IMAGES must say which image of Weir to use under which two tags: repository:tag,tag',
    }
  return {
    ok: true,
    cluster: {
      name: `the cluster of ${kubeconfig}`,
      images: { ...publicImages, weir: { repository, tags: [first, second] } },
      [Symbol.asyncDispose]: async () => {},
    },
  }
}

const openKind = async (name: string): Promise<Cluster> => {
  const weir = { repository: 'localhost/weir', tags: ['e2e-1', 'e2e-2'] } as const
  const tags = weir.tags.map((tag) => `${weir.repository}:${tag}`)
  await runOrThrow('docker', ['build', '--file', 'deploy/Dockerfile', ...tags.flatMap((tag) => ['--tag', tag]), root], {
    deadlineMs: BUILD_DEADLINE_MS,
  })
  await runOrThrow('kind', ['load', 'docker-image', '--name', name, ...tags], { deadlineMs: BUILD_DEADLINE_MS })
  return { name: `kind's cluster ${name}`, images: { ...publicImages, weir }, [Symbol.asyncDispose]: async () => {} }
}
