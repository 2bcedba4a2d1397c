import { readFileSync } from 'node:fs'
import type { Json, JsonObject } from './json.ts'

export const committed: JsonObject = JSON.parse(readFileSync(new URL('../openapi.v1.json', import.meta.url), 'utf8'))

/** Names and indexes that lead to a part of a document. */
export type Path = readonly (string | number)[]

export const at = (...path: Path): Json => path.reduce<Json>((from, step) => stepInto(from, step), committed)

const stepInto = (from: Json, step: string | number): Json => {
  const found = Object(from)[step]
  if (found === undefined) throw new Error(`the document has no ${step} there`)
  return found
}

/** The committed document with another value there; without one, what is there is gone. */
export const planted = (path: Path, value?: Json): JsonObject => {
  const changed = structuredClone(committed)
  const last = path.at(-1) ?? ''
  const holder = path.slice(0, -1).reduce<Json>((from, step) => stepInto(from, step), changed)
  if (value !== undefined) Object.assign(Object(holder), { [last]: value })
  else if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else if (!Reflect.has(Object(holder), last) || !Reflect.deleteProperty(Object(holder), last))
    throw new Error(`the document has no ${last} there`)
  return changed
}
