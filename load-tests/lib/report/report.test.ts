import { expect, test } from 'vitest'
import { finding } from '../finding.ts'
import { answerTimes } from './chart.ts'
import { renderPage } from './page.ts'

const report = {
  name: 'accuracy',
  question: 'Is it <one> bucket?',
  about: 'http://127.0.0.1:1, 22 s',
  findings: [finding('in all: admitted & lawful', false, '358 admitted, 0 to 300 lawful')],
  table: 'offered 1 < 2',
  charts: [
    {
      title: 'Decisions',
      unit: 'per second',
      lines: [{ name: 'admitted', colour: '#0a7', points: [[1, 5] as const] }],
    },
  ],
}

test('the page shows verdict, findings and charts, asks nobody for anything, and takes no text for markup', () => {
  const page = renderPage(report, 'FAILED')
  expect(page).toContain('<title>accuracy: FAILED</title>')
  expect(page).toContain('<td class="fails">fails<td>in all: admitted &#38; lawful')
  expect(page).toContain('Is it &#60;one&#62; bucket?')
  expect(page).toContain('<polyline')
  expect(page).not.toMatch(/src=|href=|@import/)
})

test('the chart of answer times has one point for each part of the run in which somebody asked', () => {
  const [chart] = answerTimes({
    answer_ms: { count: 3, med: 2 },
    answer_ms_2: { count: 1, med: 2, 'p(95)': 3, 'p(99)': 4 },
    answer_ms_10: { count: 2, med: 5, 'p(95)': 6, 'p(99)': 7 },
    answer_ms_3: { count: 0, med: 0 },
  })
  expect(chart?.lines[0]?.points).toEqual([
    [2, 2],
    [10, 5],
  ])
})
