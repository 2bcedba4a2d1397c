import type { Rule } from '../../../services/bucket/rule.ts'
import { metricOf, type Slices } from '../bucket-history.ts'
import { countOf, type Figures } from '../figures.ts'
import { refillPerS } from '../rate-limit-policy.ts'

export type Line = {
  readonly name: string
  readonly colour: string
  readonly points: readonly (readonly [number, number])[]
}

export type Chart = { readonly title: string; readonly unit: string; readonly lines: readonly Line[] }

/** What was admitted by each moment, beside what the law allows by then. */
export const admittedChart = (slices: Slices, figures: Figures, rule: Rule): Chart => {
  const used = lastUsed(slices, figures) + 1
  const seconds = (slice: number) => ((slice + 1) * slices.sliceMs) / 1000
  let admitted = 0
  const points = Array.from({ length: used }, (_, slice) => {
    admitted += countOf(figures, metricOf(slices, 'passed', slice))
    return [seconds(slice), admitted] as const
  })
  return {
    title: 'Admitted, and the most that the law allows',
    unit: 'requests',
    lines: [
      {
        name: 'lawful: capacity + refill × time',
        colour: '#888',
        points: points.map(([s]) => [s, rule.capacityTokens + refillPerS(rule) * s]),
      },
      { name: 'admitted', colour: '#0a7', points },
    ],
  }
}

/** Admitted and refused, by the second. */
export const decisionsChart = (slices: Slices, figures: Figures): Chart => {
  const perSecond = Math.max(1, Math.round(1000 / slices.sliceMs))
  const groups = Math.ceil((lastUsed(slices, figures) + 1) / perSecond)
  const rates = (event: 'passed' | 'refused') =>
    Array.from({ length: groups }, (_, group) => {
      const total = Array.from({ length: perSecond }, (_, index) =>
        countOf(figures, metricOf(slices, event, group * perSecond + index)),
      ).reduce((sum, count) => sum + count, 0)
      const widthS = (perSecond * slices.sliceMs) / 1000
      return [(group + 1) * widthS, total / widthS] as const
    })
  return {
    title: 'Decisions per second',
    unit: 'per second',
    lines: [
      { name: 'admitted', colour: '#0a7', points: rates('passed') },
      { name: 'refused', colour: '#c40', points: rates('refused') },
    ],
  }
}

const lastUsed = (slices: Slices, figures: Figures) =>
  Array.from({ length: slices.count }, (_, slice) => slice).findLast(
    (slice) =>
      countOf(figures, metricOf(slices, 'passed', slice)) + countOf(figures, metricOf(slices, 'refused', slice)) > 0,
  ) ?? 0

const TIMELINE = /^answer_ms_(\d+)$/

/** None where the run keeps no timeline. */
export const answerTimes = (figures: Figures): readonly Chart[] => {
  const slices = Object.entries(figures)
    .flatMap(([name, values]) => {
      const slice = TIMELINE.exec(name)?.[1]
      return slice === undefined || (values['count'] ?? 1) === 0 ? [] : [{ slice: Number(slice), values }]
    })
    .toSorted((a, b) => a.slice - b.slice)
  if (slices.length === 0) return []
  const line = (stat: string, colour: string): Line => ({
    name: stat,
    colour,
    points: slices.map(({ slice, values }) => [slice, values[stat] ?? 0]),
  })
  return [
    {
      title: 'Time to an answer over the run (in fortieths of it)',
      unit: 'ms',
      lines: [line('med', '#0a7'), line('p(95)', '#d90'), line('p(99)', '#c40')],
    },
  ]
}
