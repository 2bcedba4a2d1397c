// soak: the same traffic for a long time. Does memory stay where it was?
import exec from 'k6/execution'
import { Trend } from 'k6/metrics'
import { allAnswered, answered } from './lib/answered.ts'
import { steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import type { Figures } from './lib/figures.ts'
import { type Finding, finding } from './lib/finding.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { nothingDecidedLocally, readProcesses } from './lib/processes.ts'
import { createTimeline } from './lib/recorder.ts'
import { createRun } from './lib/run.ts'
import { apiKeys, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 50)
/** Minutes show that the test works, hours what it is for. */
const DURATION_S = numberSetting('DURATION_S', 180)

const keys = apiKeys()
const recordTime = createTimeline(DURATION_S)

const kinds = ['limiter', 'api'] as const
const memories = ['heap', 'resident'] as const
const metricOf = (kind: string, memory: string, quarter: number) => `${kind}_${memory}_mb_${quarter}`
const trends = new Map(
  kinds.flatMap((kind) =>
    memories.flatMap((memory) =>
      [0, 1, 2, 3].map((quarter) => {
        const metric = metricOf(kind, memory, quarter)
        return [metric, new Trend(metric)] as const
      }),
    ),
  ),
)

/**
 * The first quarter warms up. What is in use after a collection is the least that was seen; the resident part goes up and down with
 * collections, so its median is taken. A tenth, as the performance goals have it, and what one collection more or less may make.
 */
const flat = (figures: Figures): readonly Finding[] =>
  kinds.flatMap((kind) =>
    memories.map((memory) => {
      const stat = memory === 'heap' ? 'min' : 'med'
      const allowanceMb = memory === 'heap' ? 8 : 25
      const [second, last] = [1, 3].map((quarter) => figures[metricOf(kind, memory, quarter)]?.[stat])
      const claim = `${memory} memory of all processes of kind ${kind} stays flat`
      if (second === undefined || last === undefined)
        return { claim, outcome: 'fails', figures: 'not read: METRICS_URLS says where the processes are' }
      return finding(
        claim,
        last <= 1.1 * second + allowanceMb,
        `${second.toFixed(0)} MB in the second quarter of the run, ${last.toFixed(0)} MB in the last (${stat})`,
      )
    }),
  )

const run = createRun({
  name: 'soak',
  question: 'The same traffic for a long time. Does memory stay where it was?',
  promises: [allAnswered],
  judge: (figures) => ({ findings: [...flat(figures), nothingDecidedLocally(figures)] }),
})

export const options = {
  ...run.settings,
  scenarios: {
    callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }),
    watch: {
      executor: 'constant-arrival-rate',
      exec: 'watch',
      rate: 1,
      timeUnit: `${Math.max(1, Math.floor(DURATION_S / 100))}s`,
      duration: `${DURATION_S}s`,
      preAllocatedVUs: 10,
      gracefulStop: '15s',
    },
  },
}

export const setup = () => prepareBucket(undefined, keys[0])

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(keys[exec.scenario.iterationInTest % Math.max(1, keys.length)])
  recordTime(startMs, sentMs)
  answered.add(verdict !== 'lost')
}

const MB = 1024 * 1024

export const watch = ({ startMs }: Start) => {
  const readings = readProcesses()
  const quarter = Math.min(3, Math.floor(((Date.now() - startMs) / 1000 / DURATION_S) * 4))
  for (const kind of kinds) {
    const own = readings.filter((reading) => reading.kind === kind)
    if (own.length === 0) continue
    const sum = (read: (reading: (typeof own)[number]) => number) =>
      own.reduce((total, one) => total + read(one), 0) / MB
    trends.get(metricOf(kind, 'heap', quarter))?.add(sum(({ heapBytes }) => heapBytes))
    trends.get(metricOf(kind, 'resident', quarter))?.add(sum(({ residentBytes }) => residentBytes))
  }
}

export const { teardown, handleSummary } = run
