import { describe, expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import type { PolicySet, PolicySets } from '../core/policy.ts'
import type { Met } from '../core/rehearse.ts'
import { createComparison } from './comparison.ts'

const api = domainName('api')
const some = (): PolicySets => new Map([[api, { domain: api, subject: 'client', policies: [] } satisfies PolicySet]])
const allow: Met = { verdict: 'allow' }
const deny = (policy: string, client: string): Met => ({
  verdict: 'deny',
  policy: policyName(policy),
  attributes: new Map([['client', client]]),
})

const open = (maxSubjects?: number) => {
  const sets = { live: some(), candidate: some() as PolicySets | undefined }
  const clock = { nowUs: 1_000 }
  const comparison = createComparison({
    live: () => sets.live,
    candidate: () => sets.candidate,
    nowUs: () => clock.nowUs,
    ...(maxSubjects !== undefined && { maxSubjects }),
  })
  return { sets, clock, comparison }
}

describe('the comparison', () => {
  test('counts each subject by the policy that would refuse it, or refuses it now', () => {
    const { comparison } = open()
    const compare = (met: Met, would: Met) => comparison.current()?.compared(api, met, would)
    for (let request = 0; request < 3; request += 1) compare(allow, deny('new', 'a'))
    compare(allow, deny('new', 'b'))
    compare(deny('old', 'c'), allow)
    compare(deny('old', 'c'), deny('new', 'c'))
    compare(allow, allow)
    compare({ verdict: 'unknown' }, deny('new', 'd'))
    comparison.current()?.skipped()
    expect(comparison.read()).toEqual({
      sinceUs: 1_000,
      compared: 7,
      wouldBeRefused: 4,
      wouldBeLetIn: 1,
      unknown: 1,
      skipped: 1,
      policies: [
        {
          domain: 'api',
          policy: 'new',
          wouldBeRefused: {
            requests: 4,
            top: [
              { subject: 'a', atLeast: 3, atMost: 3 },
              { subject: 'b', atLeast: 1, atMost: 1 },
            ],
          },
          wouldBeLetIn: { requests: 0, top: [] },
        },
        {
          domain: 'api',
          policy: 'old',
          wouldBeRefused: { requests: 0, top: [] },
          wouldBeLetIn: { requests: 1, top: [{ subject: 'c', atLeast: 1, atMost: 1 }] },
        },
      ],
    })
  })

  test('begins anew with every change of either side, and a late answer does not count for the next one', () => {
    const { comparison, sets, clock } = open()
    const late = comparison.current()
    late?.compared(api, allow, deny('new', 'a'))
    for (const side of ['candidate', 'live'] as const) {
      sets[side] = some()
      clock.nowUs += 1
      late?.compared(api, allow, deny('new', 'a'))
      expect(comparison.read()).toMatchObject({ sinceUs: clock.nowUs, compared: 0, policies: [] })
    }
    expect(comparison.totals()).toContainEqual({ result: 'would_be_refused', value: 3 })
  })

  test('is none without a candidate', () => {
    const { comparison, sets } = open()
    sets.candidate = undefined
    expect(comparison.current()).toBeUndefined()
    expect(comparison.read()).toBeUndefined()
  })

  test('remembers a bounded number of subjects, the most affected', () => {
    const { comparison } = open(10)
    for (let request = 0; request < 1_000; request += 1) {
      comparison.current()?.compared(api, allow, deny('new', `rare-${request}`))
      comparison.current()?.compared(api, allow, deny('new', 'often'))
    }
    const affected = comparison.read()?.policies[0]?.wouldBeRefused
    expect(affected?.requests).toBe(2_000)
    expect(affected?.top.length).toBe(10)
    expect(affected?.top[0]?.subject).toBe('often')
  })

  test('shows no credential that is a subject', () => {
    const { comparison } = open()
    comparison.current()?.compared(api, allow, deny('new', 'sk_live_51HabcdefghijklmnopQRS'))
    expect(JSON.stringify(comparison.read())).not.toContain('51Habcdefgh')
  })
})
