import { parseAllDocuments } from 'yaml'
import type { Report } from './report.ts'

type Render = (...args: readonly string[]) => Promise<{ readonly stdout: string; readonly stderr: string }>

type Peer = {
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> }
  readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>> }
}
type NetworkPolicy = {
  readonly kind: 'NetworkPolicy'
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly ingress: readonly {
      readonly ports: readonly { readonly port: string }[]
      readonly from?: readonly Peer[]
    }[]
  }
}

/** Who may reach which port, by component, for a way to install the chart. */
const ways = [
  {
    mode: 'service',
    reach: [
      'weir-api admin: every pod',
      'weir-api http: anybody',
      'weir-limiter admin: every pod',
      'weir-limiter grpc: api, test',
      'weir-postgresql postgresql: api',
      'weir-redis bus: redis',
      'weir-redis redis: limiter, redis, weir/limiter=sidecar',
    ],
  },
  {
    mode: 'sidecar',
    reach: [
      'weir-api admin: every pod',
      'weir-api http: anybody',
      'weir-api limiter-admin: every pod',
      'weir-postgresql postgresql: api',
      'weir-redis bus: redis',
      'weir-redis redis: api, redis, weir/limiter=sidecar',
    ],
  },
] as const

/** That the chart's NetworkPolicies let through whom it says, and nobody else. */
export const checkNetworkPolicies = async (render: Render, claim: Report['claim']) => {
  for (const { mode, reach } of ways) {
    const { stdout, stderr } = await render('--set', `limiter.mode=${mode}`)
    const found = reachOf(stdout)
    claim(
      `in mode ${mode} only API pods and the test reach limiters, only limiters reach Redis, only API pods reach PostgreSQL`,
      found.join('; ') === reach.join('; '),
      stderr.trim() || found.join('; '),
    )
  }
  const closed = await render(
    ...['--set', 'networkPolicy.limiterClients[0].podSelector.matchLabels.app=shop'],
    ...['--set', 'networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.name=monitoring'],
    ...['--set', 'networkPolicy.apiClients[0].namespaceSelector.matchLabels.name=ingress'],
  )
  const named = [
    'weir-api admin: namespace name=monitoring',
    'weir-api http: namespace name=ingress',
    'weir-limiter admin: namespace name=monitoring',
    'weir-limiter grpc: api, app=shop, test',
  ]
  const found = reachOf(closed.stdout)
  claim(
    'networkPolicy.limiterClients, metricsFrom and apiClients are let through, and nobody beside them',
    named.every((line) => found.includes(line)),
    closed.stderr.trim() || found.join('; '),
  )
}

const reachOf = (manifests: string): readonly string[] =>
  parseAllDocuments(manifests)
    .map((document) => document.toJS() as NetworkPolicy | { readonly kind: 'another' } | null)
    .flatMap((object) => (object?.kind === 'NetworkPolicy' ? rulesOf(object) : []))
    .toSorted()

const rulesOf = ({ metadata, spec }: NetworkPolicy) => {
  const peersOf = new Map<string, readonly string[]>()
  for (const { ports, from } of spec.ingress)
    for (const { port } of ports)
      peersOf.set(port, [...(peersOf.get(port) ?? []), ...(from?.map(nameOf) ?? ['anybody'])])
  return [...peersOf].map(([port, peers]) => `${metadata.name} ${port}: ${peers.toSorted().join(', ')}`)
}

const nameOf = ({ podSelector, namespaceSelector }: Peer) => {
  const { 'app.kubernetes.io/component': component, ...labels } = podSelector?.matchLabels ?? {}
  if (component !== undefined) return component
  const written = (of: Readonly<Record<string, string>>) =>
    Object.entries(of)
      .map(([name, value]) => `${name}=${value}`)
      .join()
  if (namespaceSelector === undefined) return written(labels)
  return namespaceSelector.matchLabels === undefined
    ? 'every pod'
    : `namespace ${written(namespaceSelector.matchLabels)}`
}
