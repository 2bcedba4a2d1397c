/** A real Prometheus with Weir's rules, scraping every second. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from '../platform/service.fixture.ts'

export const rulesFile = new URL('../../deploy/prometheus/rules.yaml', import.meta.url)

export type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: number }
export type Alert = { readonly name: string; readonly state: string; readonly labels: Readonly<Record<string, string>> }

export type Series = {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (readonly [timeS: number, value: number])[]
}

type Options = {
  /** By job, the admin ports to scrape. */
  readonly jobs: Readonly<Record<string, readonly number[]>>
  /** Alerts wait this much shorter than their `for` says. */
  readonly hurry?: number
}

export const startPrometheus = async ({ jobs, hurry = 1 }: Options) => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-prometheus-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const rules = (await readFile(rulesFile, 'utf8')).replace(
    /for: (\d+)m/g,
    (_, minutes) => `for: ${Math.ceil((Number(minutes) * 60) / hurry)}s`,
  )
  await writeFile(join(folder, 'rules.yaml'), rules)
  const scrapes = Object.entries(jobs).map(([job, ports]) => ({
    job_name: job,
    static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
  }))
  // YAML takes JSON.
  const configuration = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: scrapes,
  }
  await writeFile(join(folder, 'prometheus.yaml'), JSON.stringify(configuration))

  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'exit')
  stack.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended: ${output}`)
    const ready = await fetch(`${url}/-/ready`).catch(() => undefined)
    return ready?.ok === true
  }, 60_000)

  const ask = async (path: string, parameters: Readonly<Record<string, string>>) => {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const answer = (await response.json()) as { status: string; error?: string; data: unknown }
    if (answer.status !== 'success') throw new Error(`${parameters['query'] ?? path}: ${answer.error}`)
    return answer.data
  }
  const kept = stack.move()
  return {
    /** What an expression is now; a scalar is a sample without labels. */
    query: async (expression: string): Promise<readonly Sample[]> => {
      const { resultType, result } = (await ask('query', { query: expression })) as QueryResult
      if (resultType === 'scalar') return [{ metric: {}, value: Number(result[1]) }]
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    queryRange: async (expression: string, startS: number, endS: number, stepS: number): Promise<readonly Series[]> => {
      const range = { query: expression, start: `${startS}`, end: `${endS}`, step: `${stepS}` }
      const { result } = (await ask('query_range', range)) as RangeResult
      return result.map(({ metric, values }) => ({
        metric,
        values: values.map(([timeS, value]) => [timeS, Number(value)] as const),
      }))
    },
    labelValues: async (label: string, metric: string) =>
      (await ask(`label/${label}/values`, { 'match[]': metric })) as readonly string[],
    alerts: async (): Promise<readonly Alert[]> => {
      const { alerts } = (await ask('alerts', {})) as {
        alerts: { labels: Record<string, string>; state: string }[]
      }
      return alerts.map(({ labels, state }) => ({ name: labels['alertname'] ?? '', state, labels }))
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>

type QueryResult =
  | { readonly resultType: 'scalar'; readonly result: readonly [number, string] }
  | {
      readonly resultType: 'vector'
      readonly result: readonly { metric: Record<string, string>; value: readonly [number, string] }[]
    }
type RangeResult = { readonly result: readonly { metric: Record<string, string>; values: [number, string][] }[] }
