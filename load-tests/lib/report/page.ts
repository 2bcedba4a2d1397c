import type { Finding } from '../finding.ts'
import type { Chart, Line } from './chart.ts'
import type { Report } from './write-report.ts'

/** One file that a browser shows without asking anybody for anything. */
export const renderPage = (report: Report, verdict: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(report.name)}: ${escapeHtml(verdict)}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
  table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
  .holds { color: #075 } .fails { color: #b30; font-weight: bold } .unchecked { color: #850 }
  pre { overflow-x: auto; background: #f6f6f6; padding: 1rem } svg { width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: #555 }
</style>
<h1>${escapeHtml(report.name)}: ${escapeHtml(verdict)}</h1>
<p>${escapeHtml(report.question)}</p>
<p>${escapeHtml(report.about)}</p>
<table><tr><th>outcome<th>claim<th>figures</tr>${report.findings.map(row).join('')}</table>
${report.table === undefined ? '' : `<pre>${escapeHtml(report.table)}</pre>`}
${report.charts.map(renderChart).join('\n')}
</html>
`

const row = ({ outcome, claim, figures }: Finding) =>
  `<tr><td class="${outcome}">${outcome}<td>${escapeHtml(claim)}<td>${escapeHtml(figures)}</tr>`

const WIDTH = 800
const HEIGHT = 260
const LEFT = 70
const BOTTOM = 30
const TOP = 10

const renderChart = ({ title, unit, lines }: Chart): string => {
  const points = lines.flatMap((line) => line.points)
  if (points.length === 0) return ''
  const most = { x: Math.max(1, ...points.map(([x]) => x)), y: Math.max(1, ...points.map(([, y]) => y)) }
  const x = (value: number) => LEFT + (value / most.x) * (WIDTH - LEFT - 10)
  const y = (value: number) => HEIGHT - BOTTOM - (value / most.y) * (HEIGHT - BOTTOM - TOP)
  const path = ({ points: [...all] }: Line) => all.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ')
  const marks = [0, 0.25, 0.5, 0.75, 1]
  return `<h2>${escapeHtml(title)}</h2>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">
${marks.map((part) => `<line x1="${LEFT}" x2="${WIDTH - 10}" y1="${y(part * most.y)}" y2="${y(part * most.y)}" stroke="#eee"/><text x="${LEFT - 6}" y="${y(part * most.y) + 4}" text-anchor="end">${shortNumber(part * most.y)}</text>`).join('')}
${marks.map((part) => `<text x="${x(part * most.x)}" y="${HEIGHT - 8}" text-anchor="middle">${shortNumber(part * most.x)}</text>`).join('')}
${lines.map((line) => `<polyline fill="none" stroke="${line.colour}" stroke-width="2" points="${path(line)}"/>`).join('')}
</svg>
<p>${lines.map(({ name, colour }) => `<span style="color:${colour}">■</span> ${escapeHtml(name)}`).join(' &nbsp; ')} (${escapeHtml(unit)})</p>`
}

const shortNumber = (value: number) => (value >= 100 ? value.toFixed(0) : Number(value.toFixed(2)).toString())

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
