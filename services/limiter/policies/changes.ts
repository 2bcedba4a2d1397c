import { isDeepStrictEqual } from 'node:util'
import type { PolicySet, PolicySets } from '../core/policy.ts'

/** What a set of policies has that another had not, by name: `domain/policy`. */
export type PolicyChanges = {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

export const noChanges: PolicyChanges = { added: [], changed: [], removed: [] }

/** Where a domain charges another subject than before, all of its policies have changed. */
export const changesOf = (before: PolicySets, after: PolicySets): PolicyChanges => {
  const [old, now] = [named(before), named(after)]
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    changed: [...now].flatMap(([name, policy]) =>
      old.has(name) && !isDeepStrictEqual(old.get(name), policy) ? [name] : [],
    ),
    removed: [...old.keys()].filter((name) => !now.has(name)),
  }
}

const named = (sets: PolicySets) =>
  new Map(
    [...sets.values()].flatMap(({ domain, subject, policies }: PolicySet) =>
      policies.map((policy) => [`${domain}/${policy.name}`, { subject, policy }] as const),
    ),
  )
