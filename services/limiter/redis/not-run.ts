// Errors of Redis and of ioredis after which a command has certainly not run.
/** A slot that moves: ioredis follows the redirection, and reports where it got stuck. */
export const MOVING_SLOT = /^(?:NOTSENT )?(?:TRYAGAIN|Too many Cluster redirections)/

/** The script found a key that it cannot read, before it wrote anything. */
export const NEWER_FORMAT = /^WEIRFORMAT/

/** What a cluster says while it changes, and what never left: nothing has run. */
export const PASSING =
  /^(?:NOTSENT|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|READONLY|NOREPLICAS|BUSY|MOVED|ASK|Too many Cluster redirections)/

/**
 * What became of an operation without a result. `refused`: a server that answers takes none of its kind now; `not_run`: it
 * certainly has not run; after anything else nobody knows.
 */
export type LostFate = 'refused' | 'not_run' | 'unknown'

export const fateOf = (error: unknown): LostFate => {
  if (hasNotRun(error, REFUSED)) return 'refused'
  return hasNotRun(error, PASSING) ? 'not_run' : 'unknown'
}

const REFUSED = /^(?:OOM|MISCONF|NOSCRIPT|NOAUTH|NOPERM|WEIRFORMAT)/

export const hasNotRun = (error: unknown, pattern: RegExp) => error instanceof Error && pattern.test(error.message)
