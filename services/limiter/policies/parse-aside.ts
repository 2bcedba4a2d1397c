import { Worker } from 'node:worker_threads'
import type { Timers } from '../../seams/timers.ts'
import type { ParsedPolicies } from './parse.ts'
import { fileProblem, type PolicyFile } from './problem.ts'

/** A file at the limits takes half a second. */
const DEADLINE_MS = 60_000

/** Parsing 10,000 overrides takes half of this. */
const MAX_HEAP_MB = 256

type Options = {
  readonly timers: Timers
  /** Abandons the work. */
  readonly signal: AbortSignal
}

/**
 * Parses in a thread of its own, within bounds of time and memory. A reload of a large file would otherwise hold up every
 * check for longer than the store's whole deadline.
 */
export const parseAside = (files: readonly PolicyFile[], { timers, signal }: Options) =>
  new Promise<ParsedPolicies>((resolve) => {
    const worker = new Worker(new URL('./parse-worker.ts', import.meta.url), {
      workerData: files,
      // What the process preloads and was given is not for this thread.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    const settle = (parsed: ParsedPolicies) => {
      callOff()
      signal.removeEventListener('abort', abandon)
      void worker.terminate().then(() => resolve(parsed))
    }
    const fail = (problem: string) =>
      settle({ ok: false, problems: [fileProblem(files[0]?.name ?? '', `cannot be parsed: ${problem}`)] })
    const abandon = () => fail('the limiter is stopping')
    const callOff = timers.after(DEADLINE_MS, () =>
      fail(`it takes longer than ${DEADLINE_MS / 1000} s; make it smaller`),
    )
    signal.addEventListener('abort', abandon)
    worker.once('message', settle)
    worker.once('error', (error) => fail(error instanceof Error ? error.message : String(error)))
  })
