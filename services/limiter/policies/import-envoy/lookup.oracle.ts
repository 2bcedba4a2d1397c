/** How envoyproxy/ratelimit finds the limit of a descriptor, from its documentation and not from `policies-of.ts`. */
export type OracleRule = {
  readonly key: string
  readonly value?: string
  readonly rate_limit?: { readonly unit: string; readonly requests_per_unit: number }
  readonly share_threshold?: boolean
  readonly descriptors?: readonly OracleRule[]
}

type Entry = { readonly key: string; readonly value: string }

/** The limit's number, and what tells its counter from others; `undefined`: nothing limits the descriptor. */
export const findLimit = (rules: readonly OracleRule[], entries: readonly Entry[]) => {
  let level = rules
  const counter: string[] = []
  for (const [index, { key, value }] of entries.entries()) {
    const ofKey = level.filter((rule) => rule.key === key)
    const found =
      ofKey.find((rule) => rule.value === value) ??
      ofKey.find((rule) => rule.value?.endsWith('*') && value.startsWith(rule.value.slice(0, -1))) ??
      ofKey.find((rule) => rule.value === undefined)
    if (found === undefined) return undefined
    counter.push(key, found.share_threshold ? (found.value ?? '') : value)
    if (index === entries.length - 1)
      return found.rate_limit && { requests: found.rate_limit.requests_per_unit, counter: JSON.stringify(counter) }
    level = found.descriptors ?? []
  }
  return undefined
}
