import { awaitValue } from './await.ts'
import type { Kubectl } from './cluster.ts'

/** Does nothing; what it calls is told by `kubectl exec`. */
export const idle = ['node', '-e', 'setInterval(() => {}, 1e6)']

/** A pod that is no part of the release, and runs these arguments; without any it is nginx, by the ConfigMap of its name. */
export const callerPod = (name: string, image: string, args: readonly string[] | undefined) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsNonRoot: true, runAsUser: 10003, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name,
        image,
        imagePullPolicy: 'IfNotPresent',
        ...(args === undefined ? { command: ['nginx', '-c', '/conf/nginx.conf', '-e', 'stderr'] } : { command: args }),
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        ...(args === undefined && { volumeMounts: [{ name: 'conf', mountPath: '/conf' }] }),
      },
    ],
    ...(args === undefined && { volumes: [{ name: 'conf', configMap: { name } }] }),
  },
})

/** Resolves once the pod runs. */
export const addressOf = (kubectl: Kubectl, pod: string) =>
  awaitValue(`${pod} runs`, 120_000, async () => {
    const [phase, address] = (
      await kubectl.do('get', 'pod', pod, '-o', 'jsonpath={.status.phase} {.status.podIP}')
    ).split(' ')
    return phase === 'Running' && address ? address : undefined
  })
