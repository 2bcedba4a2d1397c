import { type Finding, failuresOf } from '../finding.ts'
import type { Start } from '../prepare.ts'
import { refillPerS } from '../rate-limit-policy.ts'
import { baseUrl, textSetting } from '../settings.ts'
import type { Chart } from './chart.ts'
import { renderPage } from './page.ts'

type Ended = {
  readonly name: string
  readonly question: string
  readonly start: Start | undefined
  readonly durationMs: number
  readonly findings: readonly Finding[]
  readonly table: string | undefined
  readonly charts: readonly Chart[]
}

export type Report = Omit<Ended, 'start' | 'durationMs'> & { readonly about: string }

/** By what k6 writes: text for whoever waits; a page and JSON into the folder `OUT`, where one is told. */
export const writeReport = ({ start, durationMs, ...ended }: Ended): Readonly<Record<string, string>> => {
  const failures = failuresOf(ended.findings).length
  const unchecked = ended.findings.filter(({ outcome }) => outcome === 'unchecked').length
  const verdict = `${failures === 0 ? 'passed' : 'FAILED'}${unchecked > 0 ? ` (${unchecked} not checked)` : ''}`
  const report: Report = { ...ended, about: aboutRun(start, durationMs) }
  const out = textSetting('OUT')
  const file = `${out}/${ended.name}`
  return {
    stdout: renderText(report, verdict, out === undefined ? undefined : `${file}.html`),
    ...(out !== undefined && {
      [`${file}.html`]: renderPage(report, verdict),
      [`${file}.json`]: `${JSON.stringify({ verdict: failures === 0 ? 'passed' : 'failed', unchecked, at: new Date().toISOString(), ...report }, null, 2)}\n`,
    }),
  }
}

const aboutRun = (start: Start | undefined, durationMs: number) => {
  const limit =
    start === undefined
      ? ''
      : `, policy ${start.policy}: ${start.rule.capacityTokens} tokens, ${Number(refillPerS(start.rule).toFixed(4))} a second`
  return `${baseUrl}, ${(durationMs / 1000).toFixed(0)} s${limit}`
}

const SIGNS = { holds: 'ok  ', fails: 'FAIL', unchecked: '?   ' } as const

const renderText = ({ name, question, about, findings, table }: Report, verdict: string, page: string | undefined) =>
  [
    '',
    `${name}: ${question}`,
    about,
    '',
    ...(table === undefined ? [] : [table, '']),
    ...findings.map(({ outcome, claim, figures }) => `  ${SIGNS[outcome]}  ${claim}: ${figures}`),
    '',
    `${name}: ${verdict}${page === undefined ? '' : `   (${page})`}`,
    '',
  ].join('\n')
