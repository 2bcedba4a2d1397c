import { lookAt, showDomains } from './bucket.js'
import { drawChart } from './chart.js'
import { byId, show } from './elements.js'
import { showNow, showPolicies, showPolicyRates, showStore, showTop } from './overview.js'
import { createRates } from './rates.js'
import { showRehearsal } from './rehearsal.js'

/** @import { Snapshot } from './rates.js' */

const REFRESH_MS = 3_000

const rates = createRates()
const chart = byId('chart', SVGElement)
const connection = byId('connection', HTMLElement)
const warning = byId('warning', HTMLElement)

/** @param {string} path */
const read = async (path) => {
  const response = await fetch(path)
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  return response.json()
}

const readPolicies = async () => {
  const { domains } = await read('policies')
  showPolicies(domains)
  showPolicyRates(rates)
  showDomains(domains)
}

const refresh = async () => {
  if (document.visibilityState === 'hidden') return
  const [top, rehearsal] = await Promise.all([read('top'), read('policies/diff')])
  showTop(top, lookAt)
  showRehearsal(rehearsal)
}

/** What cannot be read now is read the next time; the connection's state says that the limiter is away. @param {() => Promise<void>} task */
const attempt = (task) => task().catch(() => {})

let generation = 0

/** @param {Snapshot} snapshot */
const showSnapshot = (snapshot) => {
  rates.add(snapshot)
  connection.dataset['state'] = 'live'
  show(connection, snapshot.isDraining ? 'draining' : 'live')
  show(byId('generation', HTMLElement), `policies of generation ${snapshot.generation}, digest ${snapshot.digest}`)
  warning.hidden = snapshot.lastReload !== 'rejected'
  if (!warning.hidden)
    show(
      warning,
      'The policy files have a mistake: the last good ones are in force. The page /policies names every problem.',
    )
  showNow(snapshot, rates)
  showPolicyRates(rates)
  showStore(snapshot)
  drawChart(chart, rates.history())
  if (snapshot.generation === generation) return
  generation = snapshot.generation
  void attempt(readPolicies)
}

show(byId('where', HTMLElement), location.host)
const live = new EventSource('console/live')
live.addEventListener('message', ({ data }) => showSnapshot(JSON.parse(data)))
live.addEventListener('error', () => {
  connection.dataset['state'] = 'lost'
  show(connection, live.readyState === EventSource.CLOSED ? 'refused: reload the page' : 'not connected')
})
void attempt(refresh)
setInterval(() => void attempt(refresh), REFRESH_MS)
