import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Call, withOpenEnds } from '../conservation/history.ts'
import { awaitTrue } from './await.ts'
import type { Kubectl } from './cluster.ts'

/** What a load run has seen of the API. */
export type Seen = {
  /** In the order in which they were sent; what is neither 200 nor 429 is `unknown`. */
  readonly calls: readonly Call[]
  /** How often each status came; 0 is no answer at all. */
  readonly statuses: ReadonlyMap<number, number>
  readonly latenciesMs: readonly number[]
  /** What was wrong where the status is neither 200 nor 429, and when. */
  readonly problems: ReadonlyMap<string, Problem>
}

/** In seconds since the load began. */
export type Problem = { readonly count: number; readonly fromS: number; readonly toS: number }

export type Load = AsyncDisposable & { readonly stop: () => Promise<Seen> }

type Options = {
  readonly kubectl: Kubectl
  readonly image: string
  readonly url: string
  readonly key: string
  readonly ratePerS: number
  /** A new connection for each request, or connections that are kept. */
  readonly connections: 'new' | 'kept'
}

const script = readFileSync(new URL('steady-load.js', import.meta.url), 'utf8')

/** Drives the API from a pod, at a steady rate, until it is told to stop. */
export const startLoad = async (options: Options): Promise<Load> => {
  const { kubectl } = options
  const name = `load-${randomUUID().slice(0, 8)}`
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { 'steady-load.js': script },
  })
  await kubectl.apply(loadPod(name, options))
  const hasBegun = async () => (await kubectl.do('logs', name, '--tail=20')).includes('< ')
  const remove = async () => {
    await kubectl.try('delete', 'pod,configmap', name, '--wait=false', '--ignore-not-found')
  }
  try {
    await awaitTrue('the load begins', 120_000, hasBegun)
  } catch (error) {
    await remove()
    throw error
  }

  return {
    [Symbol.asyncDispose]: remove,
    stop: async () => {
      await kubectl.do('exec', name, '--', 'sh', '-c', 'kill -INT 1')
      await awaitTrue('the load ends', 60_000, async () => {
        const phase = await kubectl.do('get', 'pod', name, '--output', 'jsonpath={.status.phase}')
        return phase === 'Succeeded' || phase === 'Failed'
      })
      return readLog(await kubectl.do('logs', name))
    },
  }
}

const loadPod = (name: string, { image, url, key, ratePerS, connections }: Options) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10002, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'k6',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['k6', 'run', '--quiet', '--no-usage-report', '--log-format=raw', '/scripts/steady-load.js'],
        env: [
          { name: 'HOME', value: '/tmp' },
          { name: 'URL', value: url },
          { name: 'KEY', value: key },
          { name: 'RATE', value: String(ratePerS) },
          { name: 'CONNECTIONS', value: connections },
        ],
        // Without a request it has what others leave, which on a busy node is not enough to offer its rate.
        resources: { requests: { cpu: '200m', memory: '128Mi' }, limits: { memory: '512Mi' } },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'scripts', mountPath: '/scripts' }],
      },
    ],
    volumes: [{ name: 'scripts', configMap: { name } }],
  },
})

const SENT = /^> (?<number>\d+) (?<ms>\d+)$/
const ANSWERED = /^< (?<number>\d+) (?<ms>\d+) (?<status>\d+) (?<duration>[\d.]+) ?(?<problem>.*)/

export const readLog = (log: string): Seen => {
  const sentMs = new Map<string, number>()
  const answered = new Map<
    string,
    { readonly ms: number; readonly status: number; readonly duration: number; readonly problem: string }
  >()
  for (const line of log.split('\n')) {
    const sent = SENT.exec(line)?.groups
    if (sent !== undefined) sentMs.set(sent['number'] ?? '', Number(sent['ms']))
    const answer = ANSWERED.exec(line)?.groups
    // What k6 broke off when it was told to stop got no answer.
    if (answer !== undefined && answer['problem'] !== 'context canceled')
      answered.set(answer['number'] ?? '', {
        ms: Number(answer['ms']),
        status: Number(answer['status']),
        duration: Number(answer['duration']),
        problem: withoutPorts(answer['problem'] ?? ''),
      })
  }
  const firstMs = Math.min(...sentMs.values())
  const problems = new Map<string, Problem>()
  for (const { problem, ms } of answered.values()) {
    if (problem === '') continue
    const atS = (ms - firstMs) / 1000
    const { count, fromS } = problems.get(problem) ?? { count: 0, fromS: atS }
    problems.set(problem, { count: count + 1, fromS, toS: atS })
  }
  const lastMs = Math.max(0, ...[...answered.values()].map(({ ms }) => ms), ...sentMs.values())
  const calls = [...sentMs].map(([number, ms]): Call => {
    const answer = answered.get(number)
    // Whole milliseconds, rounded down: the answer may have come until the next one. What k6 broke off ends with the run.
    const responseUs = ((answer?.ms ?? lastMs) + 1) * 1000
    return { invokeUs: ms * 1000, responseUs, cost: 1, verdict: verdictOf(answer?.status), decidedLocally: false }
  })
  const statuses = new Map<number, number>()
  for (const { status } of answered.values()) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  return {
    calls: withOpenEnds(calls),
    statuses,
    latenciesMs: [...answered.values()].map(({ duration }) => duration),
    problems,
  }
}

/** The caller's own port is another one each time. */
const withoutPorts = (problem: string) => problem.replace(/[\d.]+:\d+->/, '')

const verdictOf = (status: number | undefined): Call['verdict'] => {
  switch (status) {
    case 200:
      return 'allow'
    case 429:
      return 'deny'
    default:
      return 'unknown'
  }
}
