import { sleep } from 'k6'
import http from 'k6/http'
import { Counter, Trend } from 'k6/metrics'
import { countOf, type Figures } from './figures.ts'
import { type Finding, finding } from './finding.ts'
import { textSetting } from './settings.ts'

/** What a run may ask its surroundings to do; the runner's `faults-*.ts` know how. */
export type Fault = 'replicas-2' | 'replicas-5' | 'replicas-1' | 'store-away' | 'store-back' | 'kill-primary'

const FAULTS_URL = textSetting('FAULTS_URL') ?? textSetting('CONTROL_URL')
/** Without a runner somebody else makes the faults and answers for them. */
const ANNOUNCED = textSetting('FAULTS') === 'announced'

const made = new Counter('faults_made')
const announced = new Counter('faults_announced')
const times = new Trend('faults_at_s')

/** Returns when the fault has been made, as far as whoever makes it can tell. */
export const makeFault = (fault: Fault, startMs: number) => {
  const atS = ((Date.now() - startMs) / 1000).toFixed(1)
  if (FAULTS_URL === undefined) {
    console.warn(`FAULT ${fault}, ${atS} s after the start: make it now`)
    announced.add(1)
    return
  }
  const answer = http.post(`${FAULTS_URL}/faults/${fault}`, null, { timeout: '300s', responseType: 'text' })
  times.add((Date.now() - startMs) / 1000, { fault })
  if (answer.status === 200) made.add(1)
  else console.error(`the fault ${fault} did not happen: ${answer.status} ${answer.body}`)
}

export const waitUntilS = (startMs: number, secondS: number) =>
  sleep(Math.max(0, startMs / 1000 + secondS - Date.now() / 1000))

export const plannedFaultsHappened = (figures: Figures, planned: number): Finding => {
  const claim = 'every planned fault happened'
  const happened = countOf(figures, 'faults_made')
  const said = countOf(figures, 'faults_announced')
  if (ANNOUNCED && said === planned)
    return { claim, outcome: 'unchecked', figures: `${said} announced, FAULTS=announced` }
  return finding(
    claim,
    happened === planned,
    `${happened} of ${planned}${said > 0 ? ', nobody to make them: see --faults' : ''}`,
  )
}

/** A fault after the last question tried nothing. */
export const faultsWithin = (figures: Figures, durationS: number): Finding => {
  const lastS = figures['faults_at_s']?.['max']
  const claim = 'faults were made while callers asked'
  if (lastS === undefined) return { claim, outcome: 'unchecked', figures: 'nobody said when' }
  return finding(claim, lastS < durationS, `the last after ${lastS.toFixed(1)} s of ${durationS} s`)
}
