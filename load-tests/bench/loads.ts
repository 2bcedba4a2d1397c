import type { Spread } from './spread.ts'
import { type WayName, wayNames } from './ways.ts'

/** So many askers who each ask again when answered, or so many checks a second whether answered or not. */
export type Pace =
  | { readonly kind: 'at once'; readonly askers: number }
  | { readonly kind: 'arrivals'; readonly perSecond: number }

export type Load = {
  readonly name: string
  readonly part: Part
  readonly pace: Pace
  readonly spread: Spread
  readonly ways: readonly WayName[]
  /** Primaries of a Redis Cluster of its own; absent: the one Redis of all ways. */
  readonly shards?: number
}

/** What a run is made of. The last four are programs of their own. */
export const partNames = ['checks', 'spread', 'arrivals', 'shards', 'metrics', 'api', 'bytes', 'memory'] as const
export type Part = (typeof partNames)[number]

const atOnce = (askers: number): Pace => ({ kind: 'at once', askers })
/** Of Weir's single calls the one that is asked in its own words. */
const limiting = wayNames.filter((way) => way !== 'bare GET by ioredis' && way !== 'Weir, ShouldRateLimit')
/** A client that is refused is refused by these with what other clients cost too. */
const servers: readonly WayName[] = ['Weir, stream', 'Weir, ShouldAllow', 'envoyproxy/ratelimit']

export const loads: readonly Load[] = [
  ...[1, 64, 256].map((askers): Load => {
    return { name: `${askers} at once`, part: 'checks', pace: atOnce(askers), spread: 'uniform', ways: wayNames }
  }),
  { name: '256 at once, Zipf', part: 'spread', pace: atOnce(256), spread: 'zipf', ways: limiting },
  { name: '256 at once, one key', part: 'spread', pace: atOnce(256), spread: 'one', ways: limiting },
  { name: '256 at once, an empty bucket', part: 'spread', pace: atOnce(256), spread: 'empty', ways: servers },
  {
    name: '2,000 a second',
    part: 'arrivals',
    pace: { kind: 'arrivals', perSecond: 2_000 },
    spread: 'uniform',
    ways: limiting,
  },
  ...[1, 2, 4].map((shards): Load => {
    const name = `256 at once, ${shards} of Redis`
    return { name, part: 'shards', pace: atOnce(256), spread: 'uniform', ways: ['Weir, stream'], shards }
  }),
]
