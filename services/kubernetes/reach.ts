import { awaitTrue } from './await.ts'
import { addressOf, callerPod, idle } from './caller-pod.ts'
import type { Installation } from './installation.ts'

const ENFORCED_WITHIN_MS = 15_000

/** Which of these addresses, as in `10.0.0.1:80`, take a connection. */
const CONNECT = `
const { connect } = require('node:net')
const tries = process.argv.slice(1).map((target) => new Promise((resolve) => {
  const [host, port] = target.split(':')
  const socket = connect({ host, port, timeout: 3000 })
  const end = (taken) => { socket.destroy(); resolve(taken ? [target] : []) }
  socket.once('connect', () => end(true)).once('timeout', () => end(false)).once('error', () => end(false))
}))
Promise.all(tries).then((taken) => console.log(taken.flat().join(' ')))`

/**
 * A pod that is nobody's reaches of the release what the chart's NetworkPolicies leave open, and no more, where the network plugin
 * enforces them. Whether it does is tried out on another pod, which nobody may reach.
 */
export const checkReach = async ({ kubectl, cluster, report: { claim, say } }: Installation) => {
  const { repository, tags } = cluster.images.weir
  const image = `${repository}:${tags[0]}`
  await kubectl.apply(callerPod('walled', image, ['node', '-e', "require('node:http').createServer().listen(8000)"]))
  await kubectl.apply(callerPod('stranger', image, idle))
  const walled = `${await addressOf(kubectl, 'walled')}:8000`
  await addressOf(kubectl, 'stranger')
  const reached = async (...targets: readonly string[]) =>
    (await kubectl.do('exec', 'stranger', '--', 'node', '-e', CONNECT, ...targets)).trim().split(' ')
  await awaitTrue('the pod answers', 60_000, async () => (await reached(walled)).includes(walled))
  await kubectl.apply({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'walled' },
    spec: { podSelector: { matchLabels: { app: 'walled' } }, policyTypes: ['Ingress'] },
  })
  const isEnforced = await awaitTrue('nobody reaches it', ENFORCED_WITHIN_MS, async () => {
    return !(await reached(walled)).includes(walled)
  }).catch(() => false)
  if (isEnforced) {
    const portOf = async (component: string, port: number) =>
      `${(await kubectl.pods(component))[0]?.address ?? ''}:${port}`
    const closed = [
      await portOf('limiter', 50051),
      await portOf('redis', 6379),
      await portOf('redis', 16379),
      await portOf('postgresql', 5432),
    ]
    const open = [await portOf('api', 8080), await portOf('limiter', 9091)]
    const found = await reached(...closed, ...open)
    claim(
      'a pod that is nobody’s reaches the API and what is measured, but no limiter, Redis or PostgreSQL',
      found.join() === open.join(),
      `of ${[...closed, ...open].join(' ')}: ${found.join(' ')}`,
    )
  } else say('the network plugin here enforces no NetworkPolicy: who reaches whom is shown by their rendering alone')
  await kubectl.do('delete', 'networkpolicy,pod', 'walled', '--wait=false')
  await kubectl.do('delete', 'pod', 'stranger', '--wait=false')
}
