/** What a run has shown so far, and prints as it goes. */
export type Report = {
  /** Runs a part of the suite; what it throws is a failure of that part. Resolves to whether every claim of it held. */
  readonly step: (name: string, work: () => Promise<void>) => Promise<boolean>
  readonly claim: (text: string, holds: boolean, figures?: string) => void
  /** Lines that are no claim: tables, times. */
  readonly say: (text: string) => void
  /** Of the steps, their times; then `N passed, N failed`, last. */
  readonly finish: () => { readonly failed: number }
}

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
      try {
        await work()
      } catch (error) {
        claim(`${name}: runs to its end`, false)
        say(error instanceof Error ? (error.stack ?? error.message) : String(error))
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
