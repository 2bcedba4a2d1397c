import { type Check, type CheckFault, type DomainName, invalid } from '../../contract/check.ts'
import type { Answer, PolicyName, Quota } from '../../contract/decision.ts'
import { count } from './count.ts'
import { quota } from './decide.ts'
import { createShouldAllowTogether, type JointCheck, type JointChecked } from './joint-check.ts'
import { match } from './match.ts'
import { memoized } from './memoized.ts'
import type { Observer } from './observer.ts'
import type { PolicySets } from './policy.ts'
import type { BucketStore } from './store.ts'

type Failed = { readonly ok: false; readonly fault: CheckFault }
export type Checked = { readonly ok: true; readonly answer: Answer } | Failed

export type PolicyQuota = { readonly policy: PolicyName; readonly quota: Quota; readonly shadow: boolean }
export type Peeked =
  | { readonly ok: true; readonly quotas: readonly PolicyQuota[] }
  | Failed
  | { readonly ok: false; readonly fault: { readonly kind: 'store_unavailable' } }
export type ResetDone =
  | { readonly ok: true; readonly policies: readonly PolicyName[] }
  | Failed
  | { readonly ok: false; readonly fault: { readonly kind: 'store_unavailable' } }

export type Limiter = {
  readonly shouldAllow: (check: Check) => Promise<Checked>
  /** The buckets that such a request would be charged to; charges nothing. */
  readonly peek: (check: Check) => Promise<Peeked>
  /** Several checks of one request, as Envoy sends them: all of them pay, or none does. */
  readonly shouldAllowTogether: (check: JointCheck) => Promise<JointChecked>
  /** Fills those buckets, or only the given policy's. */
  readonly reset: (check: Check, policy: string | undefined) => Promise<ResetDone>
}

type Ports = {
  /** Read anew for each check, so that a reload takes effect between two checks and never within one. */
  readonly policies: () => PolicySets
  readonly store: BucketStore
  /** Where policies with `onStoreFailure: share` are counted while the store is away: in this process. */
  readonly localStore: Pick<BucketStore, 'take'>
  readonly observer: Observer
}

export const createLimiter = ({ policies, store, localStore, observer }: Ports): Limiter => {
  const matched = memoized(match)
  const find = ({ domain, attributes }: Check) => {
    const sets = policies()
    const set = sets.get(domain)
    if (set === undefined) return unknownDomain(domain, sets)
    const found = matched(set, attributes)
    if (found.kind !== 'missing_subject') return { ok: true, found } as const
    return invalid(`attributes.${found.subject}`, 'is missing: the domain charges requests to it')
  }

  return {
    shouldAllow: async (check) => {
      const searched = find(check)
      if (!searched.ok) return searched
      const { found } = searched
      if (found.kind === 'counted') for (const policy of found.uncountable) observer.uncountable(check.domain, policy)
      const asked = observer.asked()
      let answer: Answer | undefined
      try {
        answer =
          found.kind === 'exempt'
            ? { decision: { verdict: 'allow', basis: 'exempt' }, shadows: [] }
            : await count(found.matched, check, { store, localStore })
        return { ok: true, answer }
      } finally {
        observer.answered(check, answer, asked)
      }
    },

    peek: async (check) => {
      const searched = find(check)
      if (!searched.ok) return searched
      if (searched.found.kind === 'exempt') return { ok: true, quotas: [] }
      const { matched } = searched.found
      const outcome = await store.take({ cost: 0, buckets: matched.map(({ asked }) => asked) })
      if (outcome.kind === 'unavailable') return { ok: false, fault: { kind: 'store_unavailable' } }
      const quotas = outcome.readings.flatMap((reading, index): readonly PolicyQuota[] => {
        const one = matched[index]
        if (one === undefined) return []
        return [{ policy: one.policy.name, quota: quota(one.asked.rule, reading), shadow: !one.asked.enforced }]
      })
      return { ok: true, quotas }
    },

    shouldAllowTogether: createShouldAllowTogether({ policies, store, localStore, observer }),

    reset: async (check, policy) => {
      const searched = find(check)
      if (!searched.ok) return searched
      const all = searched.found.kind === 'exempt' ? [] : searched.found.matched
      const wanted = policy === undefined ? all : all.filter((one) => one.policy.name === policy)
      if (policy !== undefined && wanted.length === 0) return invalid('policy', 'does not match these attributes')
      const { kind } = await store.reset(wanted.map(({ asked }) => asked))
      if (kind === 'unavailable') return { ok: false, fault: { kind: 'store_unavailable' } }
      return { ok: true, policies: wanted.map((one) => one.policy.name) }
    },
  }
}

const unknownDomain = (domain: DomainName, sets: PolicySets): Failed => ({
  ok: false,
  fault: { kind: 'unknown_domain', domain, knownDomains: [...sets.keys()] },
})
