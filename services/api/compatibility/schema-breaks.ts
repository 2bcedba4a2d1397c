import { asObject, type Json, type JsonObject, type Resolve } from './json.ts'
import { type Direction, schemaRules } from './schema-rules.ts'

/** How to follow the references of two versions of a document. */
export type References = { readonly before: Resolve; readonly after: Resolve }

/** Two versions of one part of it. */
export type Versions = { readonly before: Json | undefined; readonly after: Json | undefined }

type Comparison = Versions & {
  readonly references: References
  readonly direction: Direction
  /** Where it is, for the person who reads of it. */
  readonly at: string
}

/** What in the schema of now breaks a client that was made for the one before. */
export const schemaBreaks = (comparison: Comparison): readonly string[] => compare(comparison, [])

/** `above` are the schemas that this one is part of: a schema may contain itself. */
const compare = (comparison: Comparison, above: readonly JsonObject[]): readonly string[] => {
  const { references, direction, at } = comparison
  const before = references.before(comparison.before)
  const after = references.after(comparison.after)
  if (above.includes(before)) return []
  const compareParts = (name: string, parts: Versions) =>
    compare({ ...comparison, ...parts, at: `${at}${name}` }, [...above, before])
  const compareUnder = (keyword: string, name: string) => {
    const parts = { before: before[keyword], after: after[keyword] }
    const isStated = parts.before !== undefined || parts.after !== undefined
    return isStated && parts.before !== false && parts.after !== false ? compareParts(name, parts) : []
  }
  return [
    ...schemaRules.flatMap((rule) => rule(before, after, direction)).map((fault) => `${at} ${fault}`),
    ...Object.entries(asObject(before['properties'])).flatMap(([name, property]) => {
      const kept = asObject(after['properties'])[name]
      return kept === undefined
        ? [`${at}.${name} is gone`]
        : compareParts(`.${name}`, { before: property, after: kept })
    }),
    ...compareUnder('items', '[]'),
    ...compareUnder('additionalProperties', '.*'),
  ]
}
