import { type TSchema, Type } from 'typebox'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** What every list takes beside its filters. */
export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `How many entries at most; ${DEFAULT_LIMIT} if absent. A number over ${MAX_LIMIT} is served as ${MAX_LIMIT}.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'The `next_cursor` of the page before, of the same list with the same filters.',
    }),
  ),
}

export const pageOf = <Entry extends TSchema>(entry: Entry) =>
  Type.Object({
    data: Type.Array(entry),
    page: Type.Object({
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description: 'Where the next page begins; null on the last one.',
      }),
      has_more: Type.Boolean({ description: 'Whether there is a next page.' }),
    }),
  })

export const effectiveLimit = (limit = DEFAULT_LIMIT) => Math.min(limit, MAX_LIMIT)

type PageOptions<Row, Entry> = {
  /** One more than the limit if there are more. */
  readonly rows: readonly Row[]
  readonly limit: number
  readonly encode: (row: Row) => Entry
  readonly cursorAfter: (row: Row) => string
}

export const toPage = <Row, Entry>({ rows, limit, encode, cursorAfter }: PageOptions<Row, Entry>) => {
  const entries = rows.slice(0, limit)
  const last = rows.length > limit ? entries.at(-1) : undefined
  return {
    data: entries.map(encode),
    page: { next_cursor: last === undefined ? null : cursorAfter(last), has_more: last !== undefined },
  }
}
