/** A value that a statement's `$1`, `$2`, … stands for. */
export type Parameter = string | number | null | readonly string[] | readonly number[]

export type Queries = {
  /** The caller states the row that its statement selects. */
  readonly query: <Row = unknown>(sql: string, parameters?: readonly Parameter[]) => Promise<readonly Row[]>
}

/** PostgreSQL, wherever it runs. What a client cannot cause and nobody can mend in the request is thrown. */
export type Database = Queries &
  AsyncDisposable & {
    /**
     * Commits when the work resolves, rolls back when it rejects. The work runs again when the database broke it off in favour
     * of a concurrent one, so it must do nothing but query.
     */
    readonly transaction: <T>(work: (queries: Queries) => Promise<T>) => Promise<T>
  }

/** The database did not answer, or not now: the same request may succeed later. A commit in flight may have taken place. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super(`The database is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'DatabaseUnavailable'
  }
}

/** A statement was refused because a row with the same values is there. */
export class UniqueViolation extends Error {
  /** The name of the index that allows one such row. */
  readonly constraint: string

  constructor(constraint: string, cause: unknown) {
    super(`A row that ${constraint} allows once is there already`, { cause })
    this.name = 'UniqueViolation'
    this.constraint = constraint
  }
}
