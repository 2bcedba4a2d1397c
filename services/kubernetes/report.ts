/** What a run has shown so far, and prints as it goes. */
export type Report = {
  /** Runs a part of the suite; what it throws is a failure of that part, as is a quarter of an hour. Resolves to whether every claim of it held. */
  readonly step: (name: string, work: () => Promise<void>) => Promise<boolean>
  readonly claim: (text: string, holds: boolean, figures?: string) => void
  /** Lines that are no claim: tables, times. */
  readonly say: (text: string) => void
  /** Of the steps, their times; then `N passed, N failed`, last. */
  readonly finish: () => { readonly failed: number }
}

const STEP_DEADLINE_MS = 900_000

export const createReport = (write: (text: string) => void, nowMs: () => number): Report => {
  const startMs = nowMs()
  const times: { readonly name: string; readonly seconds: number }[] = []
  let passed = 0
  let failed = 0
  const seconds = (sinceMs: number) => (nowMs() - sinceMs) / 1000

  const say = (text: string) => write(`${text.replace(/^/gm, '    ')}\n`)
  const claim = (text: string, holds: boolean, figures = '') => {
    if (holds) passed += 1
    else failed += 1
    const stamp = seconds(startMs).toFixed(0).padStart(4)
    write(`[${stamp} s] ${holds ? 'ok    ' : 'FAILED'} ${text}${figures === '' ? '' : ` (${figures})`}\n`)
  }
  return {
    say,
    claim,
    step: async (name, work) => {
      write(`\n── ${name}\n`)
      const stepMs = nowMs()
      const failedBefore = failed
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(
        () => late.reject(new Error(`it is not done after ${STEP_DEADLINE_MS / 1000} s`)),
        STEP_DEADLINE_MS,
      )
      try {
        await Promise.race([work(), late.promise])
      } catch (error) {
        claim(`${name}: runs to its end`, false)
        say(error instanceof Error ? (error.stack ?? error.message) : String(error))
      } finally {
        clearTimeout(timer)
      }
      times.push({ name, seconds: seconds(stepMs) })
      return failed === failedBefore
    },
    finish: () => {
      write('\n')
      for (const { name, seconds: took } of times) write(`${took.toFixed(0).padStart(6)} s  ${name}\n`)
      write(`${seconds(startMs).toFixed(0).padStart(6)} s  in all\n\n${passed} passed, ${failed} failed\n`)
      return { failed }
    },
  }
}
