/** A dashboard as a picture: each panel where Grafana puts it, with what a Prometheus answered. */
import type { Dashboard, DashboardPanel } from './expressions.fixture.ts'
import type { Series } from './prometheus.fixture.ts'

/** A series with the name that the panel gives it. */
export type NamedSeries = { readonly name: string; readonly values: Series['values'] }
export type PanelData = { readonly panel: DashboardPanel; readonly series: readonly NamedSeries[] }

type Span = { readonly startS: number; readonly endS: number }
type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

const COLUMN = 50
const ROW = 27
const GAP = 8
const TITLE = 52
const MAX_NAMES = 6
const colours = ['#0b6b7a', '#c4512d', '#3f7d3a', '#7a4fa3', '#b08a1e', '#3566b0', '#a33b6a', '#5c6b70'] as const

/** The name of a series by the panel's legend, as Grafana makes it of labels. */
export const seriesName = (legend: string, { metric }: Pick<Series, 'metric'>) =>
  legend.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? '')

export const drawDashboard = ({ title }: Dashboard, data: readonly PanelData[], span: Span) => {
  const bottom = Math.max(...data.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h))
  const [width, height] = [24 * COLUMN + GAP, TITLE + bottom * ROW + GAP]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, Roboto, 'DejaVu Sans', sans-serif" font-size="12" fill="#51666c">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" fill="#eef2f3"/>`,
    text({ x: GAP + 4, y: 33 }, title, 'font-size="20" font-weight="600" fill="#12262b"'),
    ...data.map((one) => drawPanel(one, span)),
    '</svg>\n',
  ].join('\n')
}

const drawPanel = ({ panel, series }: PanelData, span: Span) => {
  const { x, y, w, h } = panel.gridPos
  const box = { x: x * COLUMN + GAP, y: TITLE + y * ROW, width: w * COLUMN - GAP, height: h * ROW - GAP }
  if (panel.type === 'row')
    return text({ x: box.x + 4, y: box.y + 16 }, panel.title, 'font-size="14" font-weight="600"')
  const unit = panel.fieldConfig?.defaults.unit ?? 'short'
  const frame = `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="4" fill="#fff" stroke="#d5dee0"/>`
  const heading = text({ x: box.x + 10, y: box.y + 20 }, panel.title, 'font-weight="600" fill="#12262b"')
  const inside = panel.type === 'stat' ? drawValue(box, series, unit) : drawLines(box, { series, unit, span })
  return [frame, heading, inside].join('\n')
}

const latest = ({ values }: NamedSeries) => values.findLast(([, value]) => Number.isFinite(value))?.[1]

const drawValue = ({ x, y, height }: Box, [first]: readonly NamedSeries[], unit: string) => {
  const value = first === undefined ? undefined : latest(first)
  return text({ x: x + 10, y: y + height - 18 }, shown(value, unit), 'font-size="28" font-weight="600" fill="#0b6b7a"')
}

type Lines = { readonly series: readonly NamedSeries[]; readonly unit: string; readonly span: Span }

const drawLines = (box: Box, { series, unit, span }: Lines) => {
  const names = series.slice(0, MAX_NAMES)
  const [left, right] = [box.x + 58, box.x + box.width - 12]
  const [top, bottom] = [box.y + 34, box.y + box.height - 22 - 15 * Math.ceil(names.length / 2)]
  const highest = Math.max(
    ...series.flatMap(({ values }) => values.map(([, value]) => value).filter(Number.isFinite)),
    0,
  )
  const scale = highest === 0 ? 1 : highest * 1.1
  const place = ([timeS, value]: readonly [number, number]) => {
    const px = left + ((timeS - span.startS) / (span.endS - span.startS)) * (right - left)
    return `${px.toFixed(1)} ${(bottom - (value / scale) * (bottom - top)).toFixed(1)}`
  }
  const lines = [0, 0.5, 1].map((part) => {
    const level = bottom - part * (bottom - top)
    const line = `<path d="M${left} ${level}H${right}" stroke="#d5dee0"/>`
    return line + text({ x: left - 6, y: level + 4 }, shown(part * scale, unit), 'text-anchor="end" font-size="11"')
  })
  const paths = series.map(({ values }, index) => {
    const points = values.filter(([, value]) => Number.isFinite(value))
    return `<path d="M${points.map(place).join('L')}" fill="none" stroke="${colour(index)}" stroke-width="1.6"/>`
  })
  const legend = names.map(({ name }, index) => {
    const at = { x: box.x + 24 + (index % 2) * ((box.width - 24) / 2), y: bottom + 24 + 15 * Math.floor(index / 2) }
    const key = `<rect x="${at.x - 13}" y="${at.y - 8}" width="9" height="9" rx="2" fill="${colour(index)}"/>`
    return key + text(at, name === '' ? 'value' : name, 'font-size="11"')
  })
  return [...lines, ...paths, ...legend].join('\n')
}

const colour = (index: number) => colours[index % colours.length] ?? colours[0]

/** As Grafana shows its units, near enough. */
const shown = (value: number | undefined, unit: string) => {
  if (value === undefined) return '–'
  const digits = (of: number) => String(Number(of.toPrecision(3)))
  switch (unit) {
    case 's':
      return value === 0 ? '0 s' : value < 1 ? `${digits(value * 1_000)} ms` : `${digits(value)} s`
    case 'percentunit':
      return `${digits(value * 100)} %`
    case 'reqps':
      return `${digits(value)} /s`
    case 'bytes':
      return `${digits(value / 1024 / 1024)} MiB`
    default:
      return value >= 10_000 ? `${digits(value / 1_000)} k` : digits(value)
  }
}

const text = ({ x, y }: { readonly x: number; readonly y: number }, content: string, attributes: string) =>
  `<text x="${x}" y="${y}" ${attributes}>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`
