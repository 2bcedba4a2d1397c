import { type AdminRoutes, json, text } from '../platform/admin-server.ts'
import type { Metrics } from '../platform/metrics.ts'
import { cutOpaque } from '../platform/opaque.ts'
import type { PolicySets } from './core/policy.ts'
import type { LivePolicies, PolicyStatus } from './policies/live.ts'
import type { TopOffendersPage } from './telemetry/top-offenders.ts'

type Sources = {
  readonly metrics: Metrics
  readonly policies: LivePolicies
  readonly top: () => TopOffendersPage
  readonly isDraining: () => boolean
}

/** What the limiter's admin port serves. */
export const adminRoutes = ({ metrics, policies, top, isDraining }: Sources): AdminRoutes => ({
  '/livez': () => text(200, 'alive'),
  '/readyz': () => (isDraining() ? text(503, 'draining') : text(200, 'ready')),
  '/metrics': metrics.page,
  '/top': () => json(top()),
  '/policies': () => {
    const page = json({ ...describeStatus(policies.status()), domains: describeSets(policies.current()) })
    return { ...page, body: cutOpaque(page.body) }
  },
})

const describeStatus = ({ loadedAtUs, ...status }: PolicyStatus) => ({
  ...status,
  loadedAt: new Date(loadedAtUs / 1000).toISOString(),
})

/** The sets in force, their maps as plain objects. */
const describeSets = (sets: PolicySets) =>
  [...sets.values()].map(({ policies, ...set }) => ({
    ...set,
    policies: policies.map((policy) =>
      policy.kind === 'exempt'
        ? policy
        : {
            ...policy,
            overrides: policy.overrides.map(({ values, rule }) => ({ values: Object.fromEntries(values), rule })),
          },
    ),
  }))
