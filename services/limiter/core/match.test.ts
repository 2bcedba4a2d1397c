import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { match } from './match.ts'
import type { CountingPolicy, PolicySet } from './policy.ts'

const policy = (name: string, by: readonly string[]): CountingPolicy => ({
  kind: 'counting',
  name: policyName(name),
  conditions: [],
  by,
  rule: { capacityTokens: 10, refillTokens: 1, periodS: 1 },
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
})

const set: PolicySet = {
  domain: domainName('api'),
  subject: 'client',
  policies: [
    policy('everyone', []),
    policy('mine', ['client']),
    policy('tenant', ['tenant']),
    policy('route', ['route', 'client']),
  ],
}

test("the subject's buckets come first and share a group; a bucket across subjects has one of its own", () => {
  const attributes = new Map([
    ['client', 'user:a'],
    ['tenant', 't'],
    ['route', 'GET /'],
  ])
  const found = match(set, attributes)
  if (found.kind !== 'counted') throw new Error('nothing matched')
  expect(found.matched.map(({ policy, asked }) => [policy.name, asked.group, asked.key])).toEqual([
    ['mine', 's:api:user%3aa', 'mine'],
    ['route', 's:api:user%3aa', 'route:GET%20/'],
    ['everyone', 'p:api:everyone', 'everyone'],
    ['tenant', 'p:api:tenant:t', 'tenant:t'],
  ])
})
