import { expect, test } from 'vitest'
import { findingsOfPromises, promised, thresholdsOf } from './promise.ts'

const promises = [
  promised('answer_ms', 'p(99)<300', 'deadlines are below it'),
  promised('answer_ms', 'max<1000', 'nobody waits for longer'),
  promised('answered', 'rate>=0.999', 'everybody is told'),
]

test('several thresholds of one metric are all set', () => {
  expect(thresholdsOf(promises)).toEqual({ answer_ms: ['p(99)<300', 'max<1000'], answered: ['rate>=0.999'] })
})

test('a promise that was broken is a finding with its reason and figures, a metric without figures breaks none', () => {
  const metrics = {
    answer_ms: { values: { 'p(99)': 412.34 }, thresholds: { 'p(99)<300': { ok: false }, 'max<1000': { ok: true } } },
  }
  expect(findingsOfPromises(promises, metrics)).toEqual([
    { claim: 'answer_ms p(99)<300, because deadlines are below it', outcome: 'fails', figures: 'p(99) 412.34' },
    { claim: 'answer_ms max<1000, because nobody waits for longer', outcome: 'holds', figures: 'p(99) 412.34' },
    { claim: 'answered rate>=0.999, because everybody is told', outcome: 'holds', figures: 'none' },
  ])
})
