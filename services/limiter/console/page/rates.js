/**
 * What the limiter tells once a second: counts since it began.
 * @typedef {{ domain: string, policy: string, verdict: 'allow' | 'deny', basis: string }} Labels
 * @typedef {{ labels: Labels, value: number }} Count
 * @typedef {{
 *   atMs: number, generation: number, digest: string, lastReload: string, isDraining: boolean,
 *   decisions: Count[], inFlight: number, violations: number,
 *   durations: { boundsS: number[], counts: number[] },
 *   store: { kind: string } & Record<string, unknown>,
 * }} Snapshot
 * @typedef {{ allow: number, deny: number }} Rate
 */

const KEPT = 121
/** Rates of policies are over so many seconds: a second alone jumps. */
const SMOOTHED = 5

/** Turns counts into rates, over the snapshots of the last two minutes. */
export const createRates = () => {
  /** @type {Snapshot[]} */
  let kept = []

  /** @param {Snapshot} snapshot */
  const add = (snapshot) => {
    const last = kept.at(-1)
    // A limiter that began anew counts from nothing.
    if (last !== undefined && (total(snapshot) < total(last) || snapshot.atMs < last.atMs)) kept = []
    kept = [...kept, snapshot].slice(-KEPT)
  }

  const window = () => {
    const [from, to] = [kept[Math.max(0, kept.length - 1 - SMOOTHED)], kept.at(-1)]
    return from === undefined || to === undefined || to.atMs <= from.atMs ? undefined : { from, to }
  }

  /** Each second's rate, oldest first. @returns {Rate[]} */
  const history = () => kept.slice(1).map((to, index) => between(kept[index] ?? to, to, () => true))

  /** @param {string} [domain] @param {string} [policy] @returns {Rate} */
  const now = (domain, policy) => {
    const seen = window()
    if (seen === undefined) return { allow: 0, deny: 0 }
    return between(
      seen.from,
      seen.to,
      ({ labels }) =>
        (domain === undefined || labels.domain === domain) && (policy === undefined || labels.policy === policy),
    )
  }

  /** The upper bound in milliseconds below which 99 of 100 of the last checks stayed; undefined: none came. */
  const slowestMs = () => {
    const seen = window()
    if (seen === undefined) return undefined
    const { boundsS, counts } = seen.to.durations
    const fresh = counts.map((count, index) => count - (seen.from.durations.counts[index] ?? 0))
    const wanted = sum(fresh) * 0.99
    if (wanted === 0) return undefined
    const place = fresh.findIndex((_, index) => sum(fresh.slice(0, index + 1)) >= wanted)
    return (boundsS[place] ?? Number.POSITIVE_INFINITY) * 1_000
  }

  return { add, history, now, slowestMs }
}

/** @param {Snapshot} from @param {Snapshot} to @param {(count: Count) => boolean} isMeant @returns {Rate} */
const between = (from, to, isMeant) => {
  const seconds = Math.max(0.001, (to.atMs - from.atMs) / 1_000)
  /** @param {'allow' | 'deny'} verdict */
  const of = (verdict) => {
    /** @param {Snapshot} snapshot */
    const count = ({ decisions }) =>
      sum(decisions.filter((one) => one.labels.verdict === verdict && isMeant(one)).map(({ value }) => value))
    return (count(to) - count(from)) / seconds
  }
  return { allow: of('allow'), deny: of('deny') }
}

/** @param {Snapshot} snapshot */
const total = ({ decisions }) => sum(decisions.map(({ value }) => value))

/** @param {number[]} values */
const sum = (values) => values.reduce((all, value) => all + value, 0)
