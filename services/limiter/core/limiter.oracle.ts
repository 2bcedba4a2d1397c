/**
 * The limiter in its plainest form, written from `Policies` of the specification and not from `match.ts` or `decide.ts`:
 * every bucket is an exact rational one, named by its policy and the values it counts by.
 */
import { type ExactBucket, exactCharge, exactHolds, exactRefill } from '../../bucket/bucket.oracle.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Condition, Policy, PolicySet } from './policy.ts'

type Request = { readonly attributes: Readonly<Record<string, string>>; readonly cost: number }

export type OracleVerdict = {
  readonly verdict: 'allow' | 'deny'
  readonly basis: 'bucket' | 'no_policy' | 'exempt' | 'never_satisfiable'
  readonly shadows: Readonly<Record<string, 'allow' | 'deny'>>
}

export const createLimiterOracle = (set: PolicySet) => {
  const buckets = new Map<string, ExactBucket>()

  return (request: Request, nowUs: number): OracleVerdict => {
    const holding = set.policies.filter((policy) => conditionsHold(policy, request))
    const replaced = holding.flatMap(({ replaces }) => replaces ?? [])
    const applying = holding.filter(({ name }) => !replaced.includes(name))
    if (applying.some(({ kind }) => kind === 'exempt')) return { verdict: 'allow', basis: 'exempt', shadows: {} }

    const counted = applying.flatMap((policy) => {
      if (policy.kind === 'exempt') return []
      const values = policy.by.map((name) => request.attributes[name])
      if (values.includes(undefined)) return []
      const rule = rulesOf(policy, request)
      const name = JSON.stringify([policy.name, values])
      const bucket = exactRefill(buckets.get(name), rule, nowUs)
      const possible = request.cost <= rule.capacityTokens
      const held = possible && exactHolds(bucket, rule, request.cost)
      return [{ policy, rule, name, bucket, possible, held }]
    })
    const enforced = counted.filter(({ policy }) => policy.mode === 'enforce')
    if (enforced.some(({ possible }) => !possible)) return { verdict: 'deny', basis: 'never_satisfiable', shadows: {} }

    const allowed = enforced.every(({ held }) => held)
    const paying = allowed ? counted.filter(({ held }) => held) : []
    for (const { name, bucket, rule } of paying) buckets.set(name, exactCharge(bucket, rule, request.cost))
    const inShadow = counted.filter(({ policy }) => policy.mode === 'shadow')
    return {
      verdict: allowed ? 'allow' : 'deny',
      basis: enforced.length === 0 ? 'no_policy' : 'bucket',
      shadows: Object.fromEntries(inShadow.map(({ policy, held }) => [policy.name, held ? 'allow' : 'deny'])),
    }
  }
}

const conditionsHold = ({ conditions, unless }: Policy, { attributes }: Request) => {
  const holds = ({ attribute, anyOf }: Condition) => {
    const value = attributes[attribute]
    if (value === undefined) return false
    return anyOf.some((pattern) =>
      pattern.kind === 'exact' ? value === pattern.value : value.startsWith(pattern.value),
    )
  }
  for (const condition of unless ?? []) if (holds(condition)) return false
  return conditions.every(holds)
}

const rulesOf = (policy: Extract<Policy, { kind: 'counting' }>, { attributes }: Request): Rule => {
  for (const { values, rule } of policy.overrides) {
    let fits = true
    for (const [name, value] of values) if (attributes[name] !== value) fits = false
    if (fits) return rule
  }
  return policy.rule
}
