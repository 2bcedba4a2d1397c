import http from 'k6/http'
import { Counter } from 'k6/metrics'
import { countOf, type Figures } from './figures.ts'
import { type Finding, finding } from './finding.ts'
import { localKinds, type MetricsPage, type ProcessReading, readingOf } from './process-reading.ts'
import { listSetting, textSetting } from './settings.ts'

const CONTROL_URL = textSetting('CONTROL_URL')
const METRICS_URLS = listSetting('METRICS_URLS')

const read = new Counter('processes_read')
const unreadable = new Counter('processes_unreadable')
const decided = {
  share: new Counter('decided_by_share'),
  storeless: new Counter('decided_without_store'),
  fallback: new Counter('decided_by_fallback'),
}
const checks = new Counter('limiter_checks')
const cpu = { limiter: new Counter('limiter_cpu_s'), api: new Counter('api_cpu_s') }
const limitersSeen = new Counter('limiters_seen')
const limitersDeciding = new Counter('limiters_asked')
const choosingApis = new Counter('apis_that_choose')
const limitersUnready = new Counter('limiters_unready')

/** What limiters and APIs say of themselves: by the runner that knows them all, or at `METRICS_URLS`; nothing where neither is told. */
export const readProcesses = (): readonly ProcessReading[] => pages().map(readingOf)

const pages = (): readonly MetricsPage[] => {
  if (CONTROL_URL !== undefined) {
    const answer = http.get(`${CONTROL_URL}/processes`, { responseType: 'text' })
    if (answer.status === 200) return answer.json() as unknown as readonly MetricsPage[]
    unreadable.add(1)
    return []
  }
  return METRICS_URLS.flatMap((url) => {
    const answer = http.get(url, { responseType: 'text' })
    if (answer.status === 200) return [{ name: url, text: String(answer.body) }]
    unreadable.add(1)
    return []
  })
}

/** Turns what the processes counted since the start into metrics of the run. */
export const countSince = (before: readonly ProcessReading[]) => {
  const earlier = new Map(before.map((reading) => [reading.name, reading]))
  for (const { name, kind, decisions, local, limiters, cpuS } of readProcesses()) {
    read.add(1)
    for (const kind of localKinds) decided[kind].add(Math.max(0, local[kind] - (earlier.get(name)?.local[kind] ?? 0)))
    cpu[kind].add(Math.max(0, cpuS - (earlier.get(name)?.cpuS ?? 0)))
    // Limiters may have gone meanwhile.
    if (Math.max(limiters.known, earlier.get(name)?.limiters.known ?? 0) > 1) choosingApis.add(1)
    limitersUnready.add(limiters.unready)
    if (kind !== 'limiter') continue
    limitersSeen.add(1)
    checks.add(Math.max(0, decisions - (earlier.get(name)?.decisions ?? 0)))
    if (decisions > (earlier.get(name)?.decisions ?? 0)) limitersDeciding.add(1)
  }
}

const localDecisions = (figures: Figures) => {
  const [share, storeless, fallback] = [
    countOf(figures, 'decided_by_share'),
    countOf(figures, 'decided_without_store'),
    countOf(figures, 'decided_by_fallback'),
  ]
  const read = countOf(figures, 'processes_read')
  return {
    total: share + storeless + fallback,
    described: `${share} by a limiter's share, ${storeless} without a store, ${fallback} by an API; ${read} processes read`,
  }
}

const NOT_TOLD = 'neither METRICS_URLS nor the runner says where the processes are'

const whereRead = (figures: Figures, claim: string, judge: () => Finding): Finding => {
  const failures = countOf(figures, 'processes_unreadable')
  if (failures > 0) return finding(claim, false, `${failures} metrics pages were not readable`)
  return countOf(figures, 'processes_read') === 0 ? { claim, outcome: 'unchecked', figures: NOT_TOLD } : judge()
}

export const nothingDecidedLocally = (figures: Figures): Finding => {
  const claim = 'every decision was the shared bucket’s'
  return whereRead(figures, claim, () => {
    const { total, described } = localDecisions(figures)
    return finding(claim, total === 0, described)
  })
}

/** For a fault that is meant to cut limiters off their store. */
export const someDecidedLocally = (figures: Figures): Finding => {
  const claim = 'the store was away: limiters decided by themselves'
  return whereRead(figures, claim, () => {
    const { total, described } = localDecisions(figures)
    return finding(claim, total > 0, described)
  })
}

export const countLimiters = (processes: readonly ProcessReading[]) =>
  processes.filter(({ kind }) => kind === 'limiter').length

/** In service mode; beside each API there is only the sidecar. */
const doApisChoose = (figures: Figures) => countOf(figures, 'apis_that_choose') > 0

/** Of one bucket. APIs that know several limiters all ask the one that it prefers; the others must be there to take over. */
export const everyLimiterAsked = (figures: Figures): Finding => {
  const [asked, seen] = [countOf(figures, 'limiters_asked'), countOf(figures, 'limiters_seen')]
  if (!doApisChoose(figures)) {
    const claim = 'every limiter took part'
    return whereRead(figures, claim, () => finding(claim, asked === seen && asked > 0, `${asked} of ${seen}`))
  }
  const unready = countOf(figures, 'limiters_unready')
  return finding(
    'the bucket’s limiter took part, and every API reaches all limiters',
    asked > 0 && unready === 0,
    `${asked} of ${seen} asked, ${unready} not reached`,
  )
}

export const limitersAsked = (figures: Figures, least: number): Finding => {
  if (doApisChoose(figures)) {
    const [asked, seen] = [countOf(figures, 'limiters_asked'), countOf(figures, 'limiters_seen')]
    const claim = `at least ${least} limiters were there, and the bucket’s took part`
    return whereRead(figures, claim, () => finding(claim, seen >= least && asked > 0, `${asked} of ${seen} asked`))
  }
  const claim = `at least ${least} limiters took part`
  const asked = countOf(figures, 'limiters_asked')
  return whereRead(figures, claim, () => finding(claim, asked >= least, `${asked} did`))
}

/** What one request cost, for whoever sizes an installation by it; empty where nobody told. */
export const describeCost = (figures: Figures): string => {
  const answered = countOf(figures, 'limiter_checks')
  if (answered === 0) return ''
  const per = (metric: string) => `${((1e6 * countOf(figures, metric)) / answered).toFixed(0)} µs`
  return `processor time for each request: ${per('limiter_cpu_s')} of the limiters, ${per('api_cpu_s')} of the APIs (${answered} checks)`
}
