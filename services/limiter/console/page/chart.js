import { rate } from './elements.js'

/** @import { Rate } from './rates.js' */

const POINTS = 120
const SVG = 'http://www.w3.org/2000/svg'

/** Two areas one upon the other: what was refused, and above it what was let in. @param {SVGElement} chart @param {Rate[]} history */
export const drawChart = (chart, history) => {
  const { width, height } = chart.getBoundingClientRect()
  if (width === 0) return
  const top = Math.max(1, ...history.map(({ allow, deny }) => allow + deny)) * 1.15
  /** @param {number} index */
  const x = (index) => ((POINTS - history.length + index) / (POINTS - 1)) * width
  /** @param {number} value */
  const y = (value) => height - (value / top) * height
  const refused = history.map(({ deny }, index) => ({ x: x(index), low: y(0), high: y(deny) }))
  const letIn = history.map(({ allow, deny }, index) => ({ x: x(index), low: y(deny), high: y(allow + deny) }))
  const half = y(top / 2.3)
  chart.setAttribute('viewBox', `0 0 ${width} ${height}`)
  chart.replaceChildren(
    shape('path', { class: 'allowed', d: area(letIn) }),
    shape('path', { class: 'denied', d: area(refused) }),
    shape('line', { x1: '0', x2: `${width}`, y1: `${half}`, y2: `${half}` }),
    shape('line', { x1: '0', x2: `${width}`, y1: `${height}`, y2: `${height}` }),
    label(`${rate(top / 2.3)} per second`, half),
  )
}

/** @param {{ x: number, low: number, high: number }[]} points */
const area = (points) => {
  if (points.length < 2) return ''
  const there = points.map(({ x, high }) => `${x.toFixed(1)} ${high.toFixed(1)}`)
  const back = points.toReversed().map(({ x, low }) => `${x.toFixed(1)} ${low.toFixed(1)}`)
  return `M${there.join('L')}L${back.join('L')}Z`
}

/** @param {string} text @param {number} y */
const label = (text, y) => {
  const made = shape('text', { x: '0', y: `${y - 5}` })
  made.textContent = text
  return made
}

/** @param {string} tag @param {Record<string, string>} attributes */
const shape = (tag, attributes) => {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  return made
}
