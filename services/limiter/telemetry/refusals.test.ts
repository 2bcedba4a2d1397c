import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { silentObserver } from '../core/observer.ts'
import { observeRefusals } from './refusals.ts'
import { createTopOffenders } from './top-offenders.ts'

const KEY = 'weir_q83hTz0a9hVnq2Lx81bP'

test('refusals are counted by whom they met, and one in ten seconds is logged, without the key of whoever is charged by it', () => {
  const lines: Readonly<Record<string, unknown>>[] = []
  const top = createTopOffenders(0)
  let nowUs = 0
  const observer = observeRefusals({
    observer: silentObserver,
    top,
    subjectOf: () => 'client',
    log: (line) => lines.push(line),
    monotonicUs: () => nowUs,
  })
  const check = { domain: domainName('api'), attributes: new Map([['client', KEY]]), cost: 1 }
  const policy = policyName('free')
  observer.answered(check, { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] }, 0)
  for (let second = 0; second < 15; second += 1) {
    nowUs = second * 1_000_000
    observer.answered(
      check,
      { decision: { verdict: 'deny', basis: 'never_satisfiable', policy }, shadows: [] },
      observer.asked(),
    )
  }
  expect(lines).toEqual([
    {
      domain: 'api',
      policy: 'free',
      basis: 'never_satisfiable',
      subject: expect.stringContaining('weir_q83…'),
      unsaid: 0,
    },
    {
      domain: 'api',
      policy: 'free',
      basis: 'never_satisfiable',
      subject: expect.stringContaining('weir_q83…'),
      unsaid: 9,
    },
  ])
  const page = top.read(nowUs)
  expect(page.overall).toMatchObject([{ refusedAtLeast: 15 }])
  expect(JSON.stringify([lines, page])).not.toContain(KEY)
})
