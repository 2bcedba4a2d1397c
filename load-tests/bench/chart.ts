import type { ApiResult } from '../api-throughput.ts'
import type { Row } from './measurement.ts'
import type { Results } from './results.ts'

/** One bar: its parts follow each other. */
type Bar = { readonly name: string; readonly parts: readonly number[] }
type Panel = {
  readonly title: string
  readonly unit: string
  readonly parts: readonly string[]
  readonly bars: readonly Bar[]
}

const WIDTH = 860
const NAMES = 240
const FIGURES = 70
const BAR = 18
const ROW = 26
const HEAD = 54
const GAP = 22
const colours = ['#0b6b7a', '#c4512d', '#b08a1e'] as const

/** What a run has found, as bars, shorter ones being better. */
export const drawChart = (results: Results) => {
  const panels = panelsOf(results)
  const heights = panels.map(({ bars }) => HEAD + bars.length * ROW + GAP)
  const height = heights.reduce((sum, one) => sum + one, GAP)
  let y = GAP
  const drawn = panels.map((panel, index) => {
    const top = y
    y += heights[index] ?? 0
    return drawPanel(panel, top)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" fill="#33474d">`,
    `<title>${escapeXml('What a check costs, beside its peers')}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

const panelsOf = ({ rows, api = [] }: Results): readonly Panel[] => {
  const cpu = rows.filter(({ load }) => load === '256 at once')
  const arrivals = rows.filter(({ load }) => load === '2,000 a second')
  const requests = Map.groupBy(api, ({ request }) => request)
  return [
    {
      title: 'Processor time for a check, 256 at once',
      unit: 'µs',
      parts: ['client', 'limiter', 'Redis'],
      bars: cpu.map(cpuBar),
    },
    {
      title: 'Time until the answer, 2,000 checks a second',
      unit: 'ms',
      parts: ['median', 'to the 99th of 100'],
      bars: arrivals.map(latencyBar),
    },
    ...[...requests].map(([request, of]): Panel => {
      return {
        title: `Processor time for a request of the API: ${request}`,
        unit: 'µs',
        parts: ['API', 'limiter', 'Redis'],
        bars: of.map(apiBar),
      }
    }),
  ].filter(({ bars }) => bars.length > 0)
}

const cpuBar = ({ way, clientUs, limiterUs = 0, redisUs }: Row): Bar => ({
  name: way,
  parts: [clientUs, limiterUs, redisUs],
})
const latencyBar = ({ way, p50Us, p99Us }: Row): Bar => ({ name: way, parts: [p50Us / 1000, (p99Us - p50Us) / 1000] })
const apiBar = ({ name, apiCpuUs, limiterCpuUs = 0, redisCpuUs = 0 }: ApiResult): Bar => ({
  name,
  parts: [apiCpuUs, limiterCpuUs, redisCpuUs],
})

const lengthOf = ({ parts }: Bar) => parts.reduce((sum, part) => sum + part, 0)

const drawPanel = ({ title, unit, parts, bars }: Panel, top: number) => {
  const perPixel = Math.max(...bars.map(lengthOf)) / (WIDTH - NAMES - FIGURES - GAP)
  let x = NAMES
  const legend = parts.map((part, index) => {
    const at = x
    x += 34 + part.length * 7.5
    return `<rect x="${at}" y="${top + 28}" width="12" height="12" fill="${colours[index]}"/>${text(at + 18, top + 39, part)}`
  })
  return [
    text(GAP, top + 12, `${title}, ${unit}`, 'font-weight="600" font-size="15" fill="#12262b"'),
    ...legend,
    ...bars.map((bar, index) => drawBar(bar, top + HEAD + index * ROW, perPixel)),
  ].join('\n')
}

const drawBar = (bar: Bar, y: number, perPixel: number) => {
  let x = NAMES
  const parts = bar.parts.map((part, index) => {
    const [at, width] = [x, part / perPixel]
    x += width
    return `<rect x="${at.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${colours[index]}"/>`
  })
  const figure = lengthOf(bar)
  return [
    text(NAMES - 10, y + 14, bar.name, 'text-anchor="end"'),
    ...parts,
    text(Math.round(x + 8), y + 14, figure < 10 ? figure.toFixed(1) : Math.round(figure).toLocaleString('en')),
  ].join('\n')
}

const text = (x: number, y: number, content: string, attributes = '') =>
  `<text x="${x}" y="${y}"${attributes === '' ? '' : ` ${attributes}`}>${escapeXml(content)}</text>`

const escapeXml = (content: string) => content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
