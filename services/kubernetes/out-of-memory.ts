import { awaitTrue } from './await.ts'
import type { Kubectl, Pod } from './cluster.ts'

/**
 * Fills a container's memory limit with processes that are each smaller than its own, so that the kernel kills that one, as with
 * kill -9 (which a container's first process is deaf to from within). Resolves once it has been restarted and the pod is ready.
 */
export const runOutOfMemory = async (
  kubectl: Kubectl,
  { name, restarts }: Pod,
  component: string,
  container: string,
) => {
  const idle = 'node -e "globalThis.filled = Buffer.alloc(20e6, 1); setInterval(() => {}, 1e6)" &'
  // Ends with the container.
  void kubectl.try(
    'exec',
    name,
    '--container',
    container,
    '--',
    'sh',
    '-c',
    `for n in $(seq 30); do ${idle} done; wait`,
  )
  await awaitTrue(`${name} is restarted`, 300_000, async () => {
    const pod = (await kubectl.pods(component)).find((one) => one.name === name)
    return pod !== undefined && pod.restarts > restarts && pod.ready
  })
}
