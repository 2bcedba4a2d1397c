import { type AdminRoutes, json, text } from '../platform/admin-server.ts'
import type { Metrics } from '../platform/metrics.ts'
import { cutOpaque } from '../platform/opaque.ts'
import type { Phase } from '../platform/process.ts'
import type { PolicySets } from './core/policy.ts'
import type { RehearsalPage } from './open-rehearsal.ts'
import type { LivePolicies, PolicyStatus } from './policies/live.ts'
import type { ComparisonPage } from './telemetry/comparison.ts'
import type { TopOffendersPage } from './telemetry/top-offenders.ts'

type Sources = {
  readonly metrics: Metrics
  readonly policies: LivePolicies
  readonly top: () => TopOffendersPage
  readonly rehearsal: () => Promise<RehearsalPage>
  readonly phase: () => Phase
}

/** What the limiter's admin port serves. */
export const adminRoutes = ({ metrics, policies, top, rehearsal, phase }: Sources): AdminRoutes => ({
  '/livez': () => text(200, 'alive'),
  '/readyz': () => (phase() === 'serving' ? text(200, 'ready') : text(503, phase())),
  '/metrics': metrics.page,
  '/top': () => json(top()),
  '/policies': () =>
    withoutSecrets({ ...describeStatus(policies.status()), domains: describeSets(policies.current()) }),
  '/policies/diff': async () => withoutSecrets(describeRehearsal(await rehearsal())),
})

/** People put keys where they do not belong. */
const withoutSecrets = (value: unknown) => {
  const page = json(value)
  return { ...page, body: cutOpaque(page.body) }
}

const describeRehearsal = (page: RehearsalPage) => {
  if (page.state === 'off') return page
  const { candidate, comparison, ...rest } = page
  return {
    ...rest,
    candidate: describeStatus(candidate),
    ...(comparison !== undefined && { comparison: describeComparison(comparison) }),
  }
}

const describeComparison = ({ sinceUs, ...counts }: ComparisonPage) => ({
  since: instant(sinceUs),
  ...counts,
})

const describeStatus = ({ loadedAtUs, ...status }: PolicyStatus) => ({
  ...status,
  // Nothing was, so far.
  loadedAt: status.generation === 0 ? null : instant(loadedAtUs),
})

const instant = (us: number) => new Date(us / 1000).toISOString()

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
