import type { Rule } from '../../bucket/rule.ts'
import type { DomainName } from '../../contract/check.ts'
import type { PolicyName } from '../../contract/decision.ts'

/** A value that an attribute must have: exactly, or as its beginning. */
export type Pattern =
  | { readonly kind: 'exact'; readonly value: string }
  | { readonly kind: 'prefix'; readonly value: string }

/** An attribute and the patterns of which one must fit. */
export type Condition = { readonly attribute: string; readonly anyOf: readonly Pattern[] }

/** Other numbers for the buckets whose `by` attributes have these values. */
export type Override = { readonly values: ReadonlyMap<string, string>; readonly rule: Rule }

type PolicyHead = {
  readonly name: PolicyName
  /** All must hold; none means that every request matches. */
  readonly conditions: readonly Condition[]
  /** None may hold. */
  readonly unless?: readonly Condition[]
  /** Policies that do not apply to a request to which this one does. */
  readonly replaces?: readonly PolicyName[]
}

/** A rule: what it matches, what it counts by, its numbers, and what it does when the store fails. */
export type CountingPolicy = PolicyHead & {
  readonly kind: 'counting'
  /** One bucket for each combination of values of these attributes. */
  readonly by: readonly string[]
  readonly rule: Rule
  /** Most specific first: the first that fits applies. */
  readonly overrides: readonly Override[]
  readonly mode: 'enforce' | 'shadow'
  readonly onStoreFailure: 'share' | 'allow' | 'deny'
}

/** Requests that it matches are allowed, and charged to nobody. */
export type ExemptPolicy = PolicyHead & { readonly kind: 'exempt' }

export type Policy = CountingPolicy | ExemptPolicy

/** The policies of one domain. */
export type PolicySet = {
  readonly domain: DomainName
  /** The attribute that a request is charged to; it shards. */
  readonly subject: string
  readonly policies: readonly Policy[]
}

/** Every domain's set, by the domain's name. */
export type PolicySets = ReadonlyMap<DomainName, PolicySet>
