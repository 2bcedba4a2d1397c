import { Ajv, type ErrorObject } from 'ajv'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { type ApiError, apiError, withHeaders } from './api-error.ts'
import { httpLimits } from './connection/limits.ts'
import { firstFault } from './faults.ts'
import { nestsDeeperThan } from './json-depth.ts'
import { jsonLayout, type Layout, LONGEST_ARRAY } from './layout.ts'
import { parseQueryString, type QueryString } from './query-string.ts'
import { parseTimestamp } from './timestamp.ts'

/**
 * Query strings, headers and bodies of the routes below are held to their schemas as they were sent: nothing is coerced, dropped
 * or filled in, and the text is judged, because a parsed value has lost the order of its fields and all but the last of
 * several.
 */
export const readStrictly = (app: FastifyInstance) => {
  readBodiesOf(app, ['application/json'])
  app.setValidatorCompiler(validatorCompiler)
  app.addHook('preValidation', async (request) => {
    const { url } = request
    const mark = url.indexOf('?')
    request.query = parseQueryString(mark === -1 ? '' : url.slice(mark + 1))
  })
}

/** The routes below read JSON that calls itself by one of these names, and refuse everything else. */
export const readBodiesOf = (app: FastifyInstance, mediaTypes: readonly string[]) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>([...mediaTypes], { parseAs: 'buffer' }, ({ headers }, bytes, done) => {
    const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
    if (encoding === 'identity') done(null, bytes)
    else done(encodedBody)
  })
}

const encodedBody = withHeaders(
  apiError(415, 'media_type_unsupported', 'Send the body as it is: of Content-Encoding only identity is read.'),
  { 'accept-encoding': 'identity' },
)

type Schema = Readonly<Record<string, unknown>>
type Validated = { readonly value: unknown } | { readonly error: ApiError }

const validatorCompiler: FastifySchemaCompiler<Schema> = ({ schema, httpPart }) => {
  switch (httpPart) {
    case 'body':
      return bodyValidator(schema)
    case 'querystring':
      return queryValidator(schema)
    case 'headers':
      return headerValidator(schema)
    default:
      // An id of whatever form is one that may or may not be there.
      return () => true
  }
}

/** A text with half a character (a lone surrogate) is not Unicode: it fits no pattern, and nothing could store it. */
const regExp = (pattern: string, flags: string) => {
  const compiled = new RegExp(pattern, flags)
  return {
    test: (text: string) => text.isWellFormed() && compiled.test(text),
    // Ajv tells patterns apart by it.
    toString: () => compiled.toString(),
  }
}
// Only for generated source text, which nobody makes here.
regExp.code = ''

// The errors carry their schema, for its description, and no copies: they are bounded by the size of the body.
const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  allowUnionTypes: true,
  code: { regExp },
  formats: { 'date-time': (text: string) => parseTimestamp(text) !== undefined },
})

const compile = (schema: Schema) => {
  const validate = ajv.compile(judgeLengthFirst(schema) as Schema)
  return (value: unknown): readonly ErrorObject[] =>
    // That the `else` below was not met tells nothing that its own errors do not.
    validate(value) ? [] : (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if')
}

/**
 * An array that is too long is at fault where it begins, so what is wrong within it is not looked at. Else a body with a hundred
 * thousand entries of two bytes would have as many faults: half a second of work and hundreds of megabytes.
 */
const judgeLengthFirst = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(judgeLengthFirst)
  if (typeof schema !== 'object' || schema === null) return schema
  const judged: Schema = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [name, judgeLengthFirst(part)]),
  )
  const { items, maxItems, ...others } = judged
  if (judged['type'] !== 'array') return judged
  if (!(typeof maxItems === 'number' && maxItems <= LONGEST_ARRAY))
    throw new Error(`every array states its maxItems, of at most ${LONGEST_ARRAY}`)
  return { ...others, maxItems, if: { minItems: maxItems + 1 }, else: { type: 'array', items } }
}

const verdict = (value: unknown, errors: readonly ErrorObject[], layout: Layout): Validated => {
  const error = firstFault(errors, layout)
  return error === undefined ? { value } : { error }
}

const bodyValidator = (schema: Schema) => {
  const errorsOf = compile(schema)
  return (bytes: unknown): Validated => {
    if (!(bytes instanceof Uint8Array) || bytes.length === 0)
      return { error: apiError(400, 'malformed_body', 'The request needs a body of JSON.') }
    if (nestsDeeperThan(httpLimits.bodyDepth, bytes))
      return { error: apiError(400, 'malformed_body', `The body nests deeper than ${httpLimits.bodyDepth} levels.`) }
    const parsed = parseJson(bytes)
    if (parsed === undefined)
      return { error: apiError(400, 'malformed_body', 'The body is not well-formed JSON in UTF-8.') }
    return verdict(parsed.value, errorsOf(parsed.value), jsonLayout(parsed.text))
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const parseJson = (bytes: Uint8Array) => {
  try {
    const text = utf8.decode(bytes)
    const value: unknown = JSON.parse(text)
    return { text, value }
  } catch {
    return undefined
  }
}

const queryValidator = (schema: Schema) => {
  const errorsOf = compile(schema)
  const numeric = numericNames(schema)
  return ({ value, layout }: QueryString): Validated => {
    const typed = Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, numeric.has(name) ? readNumber(part) : part]),
    )
    return verdict(typed, errorsOf(typed), layout)
  }
}

const numericNames = ({ properties }: Schema): ReadonlySet<string> =>
  new Set(
    Object.entries(properties ?? {})
      .filter(([, { type }]) => type === 'integer' || type === 'number')
      .map(([name]) => name),
  )

/** Text that is no number stays text, and is then of the wrong type. */
const readNumber = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

const headerValidator = (schema: Schema) => {
  const errorsOf = compile(schema)
  return (headers: unknown): Validated => verdict(headers, errorsOf(headers), anywhere)
}

const anywhere: Layout = { root: { start: 0, end: 0, members: new Map() }, repeated: [] }
