import type { Rule } from '../bucket/rule.ts'
import type { DomainName } from '../contract/check.ts'
import type { PolicyName } from '../contract/decision.ts'
import type { CountingPolicy, PolicySets } from '../limiter/core/policy.ts'

export const DOMAIN = 'api' as DomainName

export const NO_POLICIES: PolicySets = new Map()

/** A bucket for each client, and one for all of them if there is a rule for it. */
export const policySets = (rule: Rule, tenantRule: Rule | undefined): PolicySets => {
  const policies = [policyOf('client', rule), ...(tenantRule === undefined ? [] : [policyOf('tenant', tenantRule)])]
  return new Map([[DOMAIN, { domain: DOMAIN, subject: 'client', policies }]])
}

const policyOf = (name: string, rule: Rule): CountingPolicy => ({
  kind: 'counting',
  name: name as PolicyName,
  conditions: [],
  by: [name],
  rule,
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
})
