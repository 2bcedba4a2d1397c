import { createLog, type Log } from './log.ts'

/** How long a stop may take before the process is ended all the same: longer than any service drains. */
const STOP_DEADLINE_MS = 10_000

/** Where a service is in its life; only one that serves is ready. */
export type Phase = 'starting' | 'serving' | 'draining'

export type Started = { readonly ok: true } | { readonly ok: false; readonly faults: readonly string[] }

type Service = {
  readonly name: string
  /** Opens what the service consists of and leaves each on the stack; faults are for a person to read. */
  readonly start: (resources: AsyncDisposableStack) => Promise<Started>
}

/**
 * Runs a service until SIGTERM, SIGINT or the end of the parent that spoke to it, then closes its resources in reverse
 * order. Exit code 0 after a stop, 1 when it could not start (one message on standard error) or a bug ended it.
 */
export const runService = async ({ name, start }: Service) => {
  const stopRequested = awaitStopRequest()
  await using resources = new AsyncDisposableStack()
  const started = await start(resources)
  if (!started.ok) {
    process.stderr.write(`${name} did not start:\n${started.faults.map((fault) => `  - ${fault}\n`).join('')}`)
    process.exitCode = 1
    endAfterDeadline(createLog(name, 'error'))
    return
  }
  process.send?.('started')
  await stopRequested
  endAfterDeadline(createLog(name, 'error'))
}

const awaitStopRequest = () =>
  new Promise<void>((resolve) => {
    // Not once: npm passes on a signal that the process group got already, and the second must not end what drains.
    process.on('SIGTERM', () => resolve())
    process.on('SIGINT', () => resolve())
    // A parent that started this process with a channel has ended: nobody is left to stop it.
    process.once('disconnect', () => resolve())
    process.channel?.unref()
  })

const endAfterDeadline = (log: Log) => {
  setTimeout(() => {
    log.error({ deadlineMs: STOP_DEADLINE_MS }, 'stopping took too long: ended with work unfinished')
    process.exit(1)
  }, STOP_DEADLINE_MS).unref()
}
