import { isDeepStrictEqual } from 'node:util'
import { asList, type Json, type JsonObject } from './json.ts'

/**
 * Of an input, everything that was taken must still be taken. Of an output, everything that is sent must be what was promised;
 * further fields and further values of an enumeration may be added to it.
 */
export type Direction = 'input' | 'output'

/** What one kind of keyword says of two versions of a schema; what is in their properties and items is not looked at. */
type Rule = (before: JsonObject, after: JsonObject, direction: Direction) => readonly string[]

const ALL_TYPES = ['null', 'boolean', 'object', 'array', 'string', 'number']
const LARGEST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const SMALLEST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const EXACT = ['pattern', 'format', 'multipleOf', 'contentEncoding', 'contentMediaType']
const UNDERSTOOD = new Set([
  ...['type', 'enum', 'const', 'required', 'default', 'properties', 'items', 'additionalProperties'],
  ...[...LARGEST, ...SMALLEST, ...EXACT],
])
const ANNOTATION = /^(title|description|examples?|deprecated|readOnly|writeOnly|\$comment|x-.*)$/

/** The schema whose values are given, and the one that they must fit: an input was made for what was, an output is what is. */
const oriented = (before: JsonObject, after: JsonObject, direction: Direction) =>
  direction === 'input' ? { values: before, limits: after } : { values: after, limits: before }

const change = (name: string, before: JsonObject, after: JsonObject) =>
  `${name}: ${JSON.stringify(before[name]) ?? 'any'} → ${JSON.stringify(after[name]) ?? 'any'}`

const typeRule: Rule = (before, after, direction) => {
  const { values, limits } = oriented(before, after, direction)
  const allowed = typesOf(limits)
  const isAllowed = (type: Json) => allowed.includes(type) || (type === 'integer' && allowed.includes('number'))
  return typesOf(values).every(isAllowed) ? [] : [change('type', before, after)]
}

const typesOf = ({ type }: JsonObject) => (type === undefined ? ALL_TYPES : asList(type))

/** A value that is gone breaks either way: it is refused now, or the promise of it is not kept. */
const enumRule: Rule = (before, after, direction) => {
  const [had, has] = [valuesOf(before), valuesOf(after)]
  if (had !== undefined && has !== undefined)
    return had
      .filter((value) => !has.some((kept) => isDeepStrictEqual(kept, value)))
      .map((value) => `${JSON.stringify(value)} is gone`)
  const { values, limits } = direction === 'input' ? { values: had, limits: has } : { values: has, limits: had }
  return limits !== undefined && values === undefined ? [change('enum', before, after)] : []
}

const valuesOf = (schema: JsonObject) => {
  if (schema['const'] !== undefined) return [schema['const']]
  return schema['enum'] === undefined ? undefined : asList(schema['enum'])
}

const limitRule =
  (names: readonly string[], isWithin: (value: number, limit: number) => boolean): Rule =>
  (before, after, direction) => {
    const { values, limits } = oriented(before, after, direction)
    return names
      .filter((name) => {
        const [value, limit] = [values[name], limits[name]]
        return typeof limit === 'number' && !(typeof value === 'number' && isWithin(value, limit))
      })
      .map((name) => change(name, before, after))
  }

const exactRule: Rule = (before, after, direction) => {
  const { values, limits } = oriented(before, after, direction)
  return EXACT.filter((name) => limits[name] !== undefined && limits[name] !== values[name]).map((name) =>
    change(name, before, after),
  )
}

const requiredRule: Rule = (before, after, direction) => {
  const { values, limits } = oriented(before, after, direction)
  const stated = asList(values['required'])
  const fault = direction === 'input' ? 'is required now' : 'may be absent now'
  return asList(limits['required'])
    .filter((name) => !stated.includes(name))
    .map((name) => `${name} ${fault}`)
}

const closedRule: Rule = (before, after, direction) =>
  direction === 'input' && after['additionalProperties'] === false && before['additionalProperties'] !== false
    ? ['takes no other fields now']
    : []

const defaultRule: Rule = (before, after, direction) =>
  direction === 'input' && before['default'] !== undefined && !isDeepStrictEqual(before['default'], after['default'])
    ? [change('default', before, after)]
    : []

/** Whatever is not understood here may break somebody. */
const otherRule: Rule = (before, after) =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !UNDERSTOOD.has(name) && !ANNOTATION.test(name))
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => change(name, before, after))

export const schemaRules: readonly Rule[] = [
  typeRule,
  enumRule,
  limitRule(LARGEST, (value, limit) => value <= limit),
  limitRule(SMALLEST, (value, limit) => value >= limit),
  exactRule,
  requiredRule,
  closedRule,
  defaultRule,
  otherRule,
]
