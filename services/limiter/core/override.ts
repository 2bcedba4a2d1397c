import type { Rule } from '../../bucket/rule.ts'
import type { Attributes } from '../../contract/check.ts'
import type { CountingPolicy, Override } from './policy.ts'

/** The overrides that name the same attributes, by the values that they name. */
type Family = { readonly names: readonly string[]; readonly byValues: Map<string, Ranked> }
type Ranked = { readonly rank: number; readonly rule: Rule }

// Thousands of overrides are looked up for every check. A policy never changes, so its index is made once.
const indexes = new WeakMap<CountingPolicy, readonly Family[]>()

/** The numbers that hold for a request: those of the first override that fits, else the policy's own. */
export const ruleFor = (policy: CountingPolicy, attributes: Attributes): Rule => {
  if (policy.overrides.length === 0) return policy.rule
  let first: Ranked | undefined
  for (const { names, byValues } of indexOf(policy)) {
    const found = byValues.get(valuesKey(names, attributes))
    if (found !== undefined && (first === undefined || found.rank < first.rank)) first = found
  }
  return first?.rule ?? policy.rule
}

const indexOf = (policy: CountingPolicy) => {
  const known = indexes.get(policy)
  if (known !== undefined) return known
  const families = new Map<string, Family>()
  for (const [rank, override] of policy.overrides.entries()) addTo(families, override, rank)
  const index = [...families.values()]
  indexes.set(policy, index)
  return index
}

const addTo = (families: Map<string, Family>, { values, rule }: Override, rank: number) => {
  const names = [...values.keys()].sort()
  const family = families.get(JSON.stringify(names)) ?? { names, byValues: new Map() }
  families.set(JSON.stringify(names), family)
  const key = valuesKey(names, values)
  // Of two that are the same the first holds.
  if (!family.byValues.has(key)) family.byValues.set(key, { rank, rule })
}

/** The lengths keep the values apart, so that no two lists have one key; an absent value is no value. */
const valuesKey = (names: readonly string[], attributes: Attributes) =>
  names.map((name) => `${attributes.get(name)?.length ?? '-'}:${attributes.get(name) ?? ''}`).join()
