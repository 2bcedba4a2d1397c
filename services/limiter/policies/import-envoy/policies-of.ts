import { attributeNames, DESCRIPTOR, shapeOf } from '../../core/descriptor.ts'
import { type Fault, type Path, valueFault } from '../fault.ts'
import { type Rule, writeRefill } from './rule.ts'

type Patterns = Readonly<Record<string, readonly string[]>>

/** A policy as its file has it, and where it came from. */
export type ImportedPolicy = {
  readonly path: Path
  readonly name: string
  readonly match: Patterns
  readonly unless: Patterns
  readonly by: readonly string[]
  readonly kind:
    | 'exempt'
    | 'block'
    | { readonly capacity: number; readonly refill: string; readonly mode: 'enforce' | 'shadow' }
  readonly replaces: readonly string[]
}

export type ImportedOverride = {
  readonly policy: string
  readonly attribute: string
  readonly value: string
  readonly capacity: number
  readonly refill: string
}

export type ImportedDomain = {
  readonly subject: string
  readonly policies: readonly ImportedPolicy[]
  readonly overrides: readonly ImportedOverride[]
  readonly faults: readonly Fault[]
  readonly notes: readonly Fault[]
}

/** A key on the way to a limit: what its value must be, and must not be because a more specific descriptor is for that. */
type Step = { readonly rule: Rule; readonly siblings: readonly Rule[] }

type Draft = Omit<ImportedPolicy, 'name' | 'replaces'> & { readonly rule: Rule; readonly slug: string }

/**
 * Each limit becomes a policy that matches exactly the descriptors for which envoyproxy/ratelimit finds that limit: all keys in their
 * order, and at each level the value itself before a wildcard before no value.
 */
export const policiesOf = (rules: readonly Rule[]): ImportedDomain => {
  const drafts: Draft[] = []
  const overridden: { readonly of: Rule; readonly attribute: string; readonly rule: Rule }[] = []
  const faults: Fault[] = []
  const notes: Fault[] = []

  const visit = (siblings: readonly Rule[], above: readonly Step[]) => {
    const merged = new Map<Rule, Rule>(siblings.flatMap((rule) => mergedInto(rule, siblings)))
    for (const rule of siblings) {
      const steps = [...above, { rule, siblings }]
      const into = merged.get(rule)
      const attribute = attributeNames(steps.map((step) => step.rule.key)).at(-1) ?? rule.key
      if (into !== undefined) overridden.push({ of: into, attribute, rule })
      else if (rule.limit !== undefined) {
        const rest = siblings.filter((sibling) => merged.get(sibling) !== rule)
        drafts.push(draftOf([...above, { rule, siblings: rest }]))
        if (rule.shadow && drafts.at(-1)?.kind === 'block')
          faults.push(valueFault(rule.path, 'is a limit of 0 in shadow_mode, which a policy cannot be: remove it'))
      }
      visit(rule.rules, steps)
    }
  }
  visit(rules, [])

  const names = uniqueNames(drafts.map(({ slug }) => slug))
  const nameOf = new Map(drafts.map(({ rule }, index) => [rule, names[index] ?? '']))
  const byLimitName = Map.groupBy(
    drafts.filter(({ rule }) => rule.limit?.name !== ''),
    ({ rule }) => rule.limit?.name,
  )
  const policies = drafts.map(({ rule, slug: _, ...draft }): ImportedPolicy => {
    const replaces = (rule.limit?.replaces ?? []).flatMap((name) => {
      const replaced = byLimitName.get(name) ?? []
      if (replaced.length === 0)
        notes.push(valueFault(rule.path, `replaces ${name}, which no limit is called: left out`))
      return replaced.map((one) => nameOf.get(one.rule) ?? '')
    })
    return { ...draft, name: nameOf.get(rule) ?? '', replaces }
  })
  const overrides = overridden.flatMap(({ of, attribute, rule }): readonly ImportedOverride[] => {
    const numbers = rule.limit?.numbers
    if (numbers === undefined || numbers === 'unlimited') return []
    const refill = writeRefill(numbers.requests, numbers.unit)
    return [{ policy: nameOf.get(of) ?? '', attribute, value: rule.value, capacity: numbers.requests, refill }]
  })
  return { subject: subjectOf(policies, rules), policies, overrides, faults, notes }
}

const isWildcard = ({ value }: Rule) => value.endsWith('*')
const prefixOf = ({ value }: Rule) => value.slice(0, -1)

/** What an override calls its own fields cannot name its bucket. */
const OVERRIDE_FIELDS = ['policy', 'capacity', 'refill']

/** A value's own number is an override of the limit that its key has for all others, where nothing but the number differs. */
const mergedInto = (rule: Rule, siblings: readonly Rule[]): readonly (readonly [Rule, Rule])[] => {
  const general = siblings.find(({ key, value }) => key === rule.key && value === '')
  const covered = siblings.some(
    (other) => other.key === rule.key && isWildcard(other) && rule.value.startsWith(prefixOf(other)),
  )
  const isPlain = (one: Rule | undefined) => {
    const { numbers, name = '', replaces = [] } = one?.limit ?? {}
    return (
      numbers !== undefined && numbers !== 'unlimited' && numbers.requests > 0 && name === '' && replaces.length === 0
    )
  }
  if (general === undefined || rule.value === '' || isWildcard(rule) || covered) return []
  if (!isPlain(rule) || !isPlain(general) || rule.shadow !== general.shadow) return []
  return OVERRIDE_FIELDS.includes(rule.key) ? [] : [[rule, general]]
}

const draftOf = (steps: readonly Step[]): Draft => {
  const attributes = attributeNames(steps.map(({ rule }) => rule.key))
  const each = steps.map((step, index) => ({ ...step, attribute: attributes[index] ?? '' }))
  const rule = steps.at(-1)?.rule
  if (rule?.limit === undefined) throw new Error('only a rule with a limit becomes a policy')
  return {
    path: rule.path,
    rule,
    slug: slugOf(steps.map((step) => step.rule)),
    match: {
      [DESCRIPTOR]: [shapeOf(steps.map((step) => step.rule.key))],
      ...Object.fromEntries(
        each.flatMap((step) => (step.rule.value === '' ? [] : [[step.attribute, [step.rule.value]] as const])),
      ),
    },
    unless: Object.fromEntries(
      each.flatMap((step) => {
        const values = moreSpecific(step)
        return values.length === 0 ? [] : [[step.attribute, values] as const]
      }),
    ),
    by: each.filter((step) => isCounted(step.rule)).map(({ attribute }) => attribute),
    kind: kindOf(rule, rule.limit.numbers),
  }
}

/** A bucket for each value, where the configuration does not say which it is. */
const isCounted = (rule: Rule) => rule.value === '' || (isWildcard(rule) && !rule.shareThreshold)

const kindOf = ({ shadow }: Rule, numbers: 'unlimited' | Parameters<typeof numbersOf>[0]): ImportedPolicy['kind'] => {
  if (numbers === 'unlimited') return 'exempt'
  return numbers.requests === 0 ? 'block' : numbersOf(numbers, shadow)
}

const numbersOf = (
  { requests, unit }: { readonly requests: number; readonly unit: Parameters<typeof writeRefill>[1] },
  shadow: boolean,
) => ({
  capacity: requests,
  refill: writeRefill(requests, unit),
  mode: shadow ? ('shadow' as const) : ('enforce' as const),
})

/** Values of the same key that are found first: exact ones, then wildcards in their order. */
const moreSpecific = ({ rule, siblings }: Step): readonly string[] => {
  const others = siblings.filter(({ key, value }) => key === rule.key && value !== '')
  const exact = others.filter((other) => !isWildcard(other))
  const wildcards = others.filter(isWildcard)
  if (rule.value === '') return others.map(({ value }) => value)
  if (!isWildcard(rule)) return []
  const prefix = prefixOf(rule)
  const earlier = wildcards.slice(0, wildcards.indexOf(rule))
  return [
    ...exact.filter(({ value }) => value.startsWith(prefix)),
    ...earlier.filter((other) => prefixOf(other).startsWith(prefix) || prefix.startsWith(prefixOf(other))),
  ].map(({ value }) => value)
}

const MAX_NAME_LENGTH = 64

const slugOf = (rules: readonly Rule[]) => {
  const slug = rules
    .map(({ key, value }) => `${key}-${value}`)
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return (/^[a-z]/.test(slug) ? slug : `limit-${slug}`).slice(0, MAX_NAME_LENGTH).replace(/-$/, '')
}

/** The second of a name gets `-2`. */
const uniqueNames = (slugs: readonly string[]) => {
  const taken = new Set<string>()
  return slugs.map((slug) => {
    let name = slug
    for (let count = 2; taken.has(name); count += 1) {
      const suffix = `-${count}`
      name = `${slug.slice(0, MAX_NAME_LENGTH - suffix.length)}${suffix}`
    }
    taken.add(name)
    return name
  })
}

/** The key that most limits count by: what a request takes from buckets of one such value is taken in one step. */
const subjectOf = (policies: readonly ImportedPolicy[], rules: readonly Rule[]) => {
  const counts = new Map<string, number>()
  for (const { by } of policies) for (const attribute of by) counts.set(attribute, (counts.get(attribute) ?? 0) + 1)
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most?.[0] ?? rules[0]?.key ?? DESCRIPTOR
}
