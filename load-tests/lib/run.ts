import { sleep } from 'k6'
import exec from 'k6/execution'
import http from 'k6/http'
import { type Figures, figuresOfRest, figuresOfSummary, type RestMetrics, type SummaryData } from './figures.ts'
import { describeFinding, type Finding, failuresOf } from './finding.ts'
import { offeredWhatItSays } from './offered.ts'
import type { Start } from './prepare.ts'
import { countSince } from './processes.ts'
import { findingsOfPromises, type Promised, thresholdsOf } from './promise.ts'
import { answerTimes, type Chart } from './report/chart.ts'
import { writeReport } from './report/write-report.ts'
import { textSetting } from './settings.ts'

/** What the figures of a run say, once for the verdict and once for the report. */
export type Verdict = {
  readonly findings: readonly Finding[]
  /** In plain text. */
  readonly table?: string
  readonly charts?: readonly Chart[]
}

export type RunDefinition = {
  readonly name: string
  readonly question: string
  readonly promises: readonly Promised[]
  readonly judge: (figures: Figures, start: Start) => Verdict
}

/** k6 asks itself for what all its callers counted. */
const OWN_METRICS = `http://${textSetting('K6_ADDRESS') ?? 'localhost:6565'}/v1/metrics`

/** Longer than it takes a caller's last numbers to arrive there. */
const SETTLE_S = 1

export const createRun = ({ name, question, promises, judge }: RunDefinition) => {
  const findingsOf = ({ findings }: Verdict, figures: Figures) => [...findings, offeredWhatItSays(figures)]
  return {
    /** For `options`. */
    settings: {
      thresholds: thresholdsOf(promises),
      summaryTrendStats: ['count', 'min', 'med', 'avg', 'p(90)', 'p(95)', 'p(99)', 'max'],
      setupTimeout: '180s',
      teardownTimeout: '120s',
      userAgent: `weir-load-tests/${name}`,
    },

    /** The verdict has to be in before k6 decides on its exit code, which is before `handleSummary`. */
    teardown: (start: Start) => {
      countSince(start.processes)
      sleep(SETTLE_S)
      const own = http.get(OWN_METRICS, { responseType: 'text' })
      if (own.status !== 200)
        return exec.test.fail(`${OWN_METRICS} does not answer, so nobody can judge: see K6_ADDRESS`)
      const figures = figuresOfRest(own.json() as unknown as RestMetrics)
      const failures = failuresOf(findingsOf(judge(figures, start), figures))
      // k6 takes the text for a format.
      if (failures.length > 0) exec.test.fail(failures.map(describeFinding).join('\n').replaceAll('%', '%%'))
    },

    handleSummary: (data: SummaryData) => {
      const start = data.setup_data as Start | undefined
      const figures = figuresOfSummary(data)
      const verdict = start === undefined ? didNotStart : judge(figures, start)
      const findings =
        start === undefined
          ? verdict.findings
          : [...findingsOf(verdict, figures), ...findingsOfPromises(promises, data.metrics)]
      return writeReport({
        name,
        question,
        start,
        durationMs: data.state.testRunDurationMs,
        findings,
        table: verdict.table,
        charts: [...(verdict.charts ?? []), ...answerTimes(figures)],
      })
    },
  }
}

const didNotStart: Verdict = {
  findings: [{ claim: 'the run started', outcome: 'fails', figures: 'it was ended before: the log says why' }],
}
