import { setTimeout as sleep } from 'node:timers/promises'
import type { Kubectl } from './cluster.ts'

export type Component = 'limiter' | 'api'
/** What a limiter or API counted, by the series of its metrics page. */
export type Series = ReadonlyMap<string, number>

export const parseMetrics = (page: string): Series =>
  new Map(
    page.split('\n').flatMap((line) => {
      const { series, value } = /^(?<series>[a-z_]+(?:\{.*\})?) (?<value>\S+)$/.exec(line)?.groups ?? {}
      return series === undefined ? [] : [[series, Number(value)] as const]
    }),
  )

/** Of all series whose text matches. */
export const sumOf = (series: Series, name: RegExp) =>
  [...series].reduce((sum, [text, value]) => (name.test(text) ? sum + value : sum), 0)

export const DECIDED_BY_SHARE = /^weir_decisions_total\{.*basis="(?:share|store_unavailable)"/
export const DECIDED_BY_FALLBACK = /^weir_api_gate_duration_seconds_count\{.*source="fallback"/

const ADMIN_PORTS = { limiter: 9091, api: 9092 } as const
const SAMPLE_MS = 2_000

export type Watch = {
  /** Over all pods that were seen, the ones that ended counted as of their last sample. */
  readonly stop: () => Promise<{ readonly decidedLocally: number; readonly pods: number }>
}

/** Reads the counters of all limiters and APIs over and over, because those of a pod that ends are gone with it. */
export const watchDecisions = (kubectl: Kubectl, limitersIn: Component = 'limiter'): Watch => {
  const first = new Map<string, number>()
  const last = new Map<string, number>()
  let stopped = false

  const sample = async (component: Component, port: number, name: RegExp) => {
    for (const pod of await kubectl.pods(component)) {
      const page = await kubectl.page(pod.name, port, '/metrics').catch(() => undefined)
      if (page === undefined) continue
      // A container that was restarted counts from 0 again.
      const id = `${pod.name}:${port}:${pod.restarts}`
      const value = sumOf(parseMetrics(page), name)
      // A pod that came while we watch began at 0.
      if (!first.has(id)) first.set(id, isFirstLook ? value : 0)
      last.set(id, value)
    }
  }
  let isFirstLook = true
  const look = async () => {
    await sample(limitersIn, ADMIN_PORTS.limiter, DECIDED_BY_SHARE)
    await sample('api', ADMIN_PORTS.api, DECIDED_BY_FALLBACK)
    isFirstLook = false
  }
  const loop = (async () => {
    while (!stopped) {
      await look().catch(() => {})
      await sleep(SAMPLE_MS)
    }
    await look()
  })()
  return {
    stop: async () => {
      stopped = true
      await loop
      const ids = [...last.keys()]
      const decidedLocally = ids.reduce((sum, id) => sum + (last.get(id) ?? 0) - (first.get(id) ?? 0), 0)
      return { decidedLocally, pods: new Set(ids.map((id) => id.split(':')[0])).size }
    },
  }
}
