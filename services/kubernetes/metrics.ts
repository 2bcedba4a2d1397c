import { setTimeout as sleep } from 'node:timers/promises'
import type { Kubectl, Pod } from './cluster.ts'

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
export const DECIDED_BY_LIMITER = /^weir_api_gate_duration_seconds_count\{.*source="limiter"/
export const DECIDED_BY_FALLBACK = /^weir_api_gate_duration_seconds_count\{.*source="fallback"/

const ADMIN_PORTS = { limiter: 9091, api: 9092 } as const
const SAMPLE_MS = 1_000

/** Decisions that were not the shared bucket's: by a limiter that did without its store, and by an API that did without a limiter. */
export type LocalDecisions = { readonly byLimiters: number; readonly byApis: number; readonly pods: number }

export type Watch = AsyncDisposable & {
  /** Over all pods that were seen, the ones that ended counted as of their last sample. */
  readonly stop: () => Promise<LocalDecisions>
}

export const totalOf = ({ byLimiters, byApis }: LocalDecisions) => byLimiters + byApis
export const describeLocal = ({ byLimiters, byApis }: LocalDecisions) => `${byLimiters} by limiters, ${byApis} by APIs`

type Count = { readonly component: Component; readonly first: number; last: number }

/** Reads the counters of all limiters and APIs over and over, because those of a pod that ends are gone with it. */
export const watchDecisions = (kubectl: Kubectl, limitersIn: Component = 'limiter'): Watch => {
  const counts = new Map<string, Count>()
  const stopped = new AbortController()
  let isFirstLook = true

  const sample = async (component: Component, podsOf: Component, name: RegExp) => {
    const read = async ({ name: pod, restarts }: Pod) => {
      const page = await kubectl.page(pod, ADMIN_PORTS[component], '/metrics').catch(() => undefined)
      if (page === undefined) return
      const value = sumOf(parseMetrics(page), name)
      // A container that was restarted counts from 0 again.
      const id = `${pod} ${component} ${restarts}`
      const count = counts.get(id)
      // A pod that came while we watch began at 0.
      if (count === undefined) counts.set(id, { component, first: isFirstLook ? value : 0, last: value })
      else count.last = value
    }
    await Promise.all((await kubectl.pods(podsOf)).map(read))
  }
  const look = async () => {
    await sample('limiter', limitersIn, DECIDED_BY_SHARE)
    await sample('api', 'api', DECIDED_BY_FALLBACK)
    isFirstLook = false
  }
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      await look().catch(() => {})
      await sleep(SAMPLE_MS, undefined, { signal: stopped.signal }).catch(() => {})
    }
  })()
  const end = () => {
    stopped.abort()
    return loop
  }
  const sumBy = (component: Component) =>
    [...counts.values()].reduce((sum, { component: of, first, last }) => sum + (of === component ? last - first : 0), 0)
  return {
    stop: async () => {
      await end()
      await look()
      const pods = new Set([...counts.keys()].map((id) => id.split(' ')[0])).size
      return { byLimiters: sumBy('limiter'), byApis: sumBy('api'), pods }
    },
    [Symbol.asyncDispose]: end,
  }
}
