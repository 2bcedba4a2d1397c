import { isDeepStrictEqual } from 'node:util'
import { asList, asObject, type Json, type JsonObject, type Resolve } from './json.ts'
import { type References, schemaBreaks, type Versions } from './schema-breaks.ts'

type Comparison = {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly references: References
  readonly at: string
}

/** What in an operation breaks a client that was made for the one before. */
export const operationBreaks = (operation: Comparison): readonly string[] =>
  [operationIdBreaks, securityBreaks, parameterBreaks, bodyBreaks, responseBreaks].flatMap((breaks) =>
    breaks(operation),
  )

/** Generated clients name their functions by it. */
const operationIdBreaks = ({ before, after, at }: Comparison) =>
  before['operationId'] === after['operationId']
    ? []
    : [`${at} operationId: ${before['operationId']} → ${after['operationId']}`]

/** Whoever was let in, with a key or without one, is let in now. */
const securityBreaks = ({ before, after, at }: Comparison) =>
  asList(before['security'])
    .map(asObject)
    .filter((had) => !asList(after['security']).some((needed) => satisfies(had, asObject(needed))))
    .map((had) => `${at} needs more than ${JSON.stringify(had)} now`)

const satisfies = (had: JsonObject, needed: JsonObject) =>
  Object.entries(needed).every(
    ([scheme, roles]) => had[scheme] !== undefined && asList(roles).every((role) => asList(had[scheme]).includes(role)),
  )

const parameterBreaks = ({ before, after, references, at }: Comparison) => {
  const had = parametersOf(before, references.before)
  const has = parametersOf(after, references.after)
  return [
    ...[...had].flatMap(([name, parameter]) => {
      const kept = has.get(name)
      return kept === undefined
        ? [`${at} ${name} is gone`]
        : [
            ...schemaBreaks({
              before: parameter['schema'],
              after: kept['schema'],
              references,
              direction: 'input',
              at: `${at} ${name}`,
            }),
            ...['style', 'explode', 'allowReserved', 'content']
              .filter((keyword) => !isDeepStrictEqual(parameter[keyword], kept[keyword]))
              .map((keyword) => `${at} ${name} is written in another ${keyword}`),
          ]
    }),
    ...[...has]
      .filter(([name, { required }]) => required === true && had.get(name)?.['required'] !== true)
      .map(([name]) => `${at} ${name} is required now`),
  ]
}

const parametersOf = (operation: JsonObject, resolve: Resolve) =>
  new Map(
    asList(operation['parameters']).map((value): [string, JsonObject] => {
      const parameter = resolve(value)
      const name = String(parameter['name'])
      return [`${parameter['in']} ${parameter['in'] === 'header' ? name.toLowerCase() : name}`, parameter]
    }),
  )

const bodyBreaks = ({ before, after, references, at }: Comparison) => {
  const [had, has] = [before['requestBody'], after['requestBody']]
  if (had !== undefined && has === undefined) return [`${at} takes no body now`]
  const [body, bodyNow] = [references.before(had), references.after(has)]
  const isRequiredNow = bodyNow['required'] === true && body['required'] !== true
  return [
    ...(isRequiredNow ? [`${at} needs a body now`] : []),
    ...contentBreaks({ before: body['content'], after: bodyNow['content'] }, 'input', { references, at: `${at} body` }),
  ]
}

type Place = { readonly references: References; readonly at: string }

const contentBreaks = (versions: Versions, direction: 'input' | 'output', { references, at }: Place) =>
  Object.entries(asObject(versions.before)).flatMap(([type, media]) => {
    const kept = asObject(versions.after)[type]
    if (kept === undefined) return [`${at} ${type} is gone`]
    const schemas = { before: asObject(media)['schema'], after: asObject(kept)['schema'] }
    return schemaBreaks({ ...schemas, references, direction, at: `${at} ${type}` })
  })

const responseBreaks = ({ before, after, references, at }: Comparison) =>
  Object.entries(asObject(before['responses'])).flatMap(([status, response]) => {
    const kept = asObject(after['responses'])[status]
    if (kept === undefined) return [`${at} ${status} is gone`]
    const versions = { before: references.before(response), after: references.after(kept) }
    const place = { references, at: `${at} ${status}` }
    const contents = { before: versions.before['content'], after: versions.after['content'] }
    return [...headerBreaks(versions, place), ...contentBreaks(contents, 'output', place)]
  })

const headerBreaks = (response: { before: JsonObject; after: JsonObject }, { references, at }: Place) => {
  const has = new Map(
    Object.entries(asObject(response.after['headers'])).map(([name, value]) => [name.toLowerCase(), value]),
  )
  return Object.entries(asObject(response.before['headers'])).flatMap(([name, value]) => {
    const kept: Json | undefined = has.get(name.toLowerCase())
    if (kept === undefined) return [`${at} ${name} is gone`]
    const [header, headerNow] = [references.before(value), references.after(kept)]
    const schemas = { before: header['schema'], after: headerNow['schema'] }
    return [
      ...schemaBreaks({ ...schemas, references, direction: 'output', at: `${at} ${name}` }),
      ...(header['required'] === true && headerNow['required'] !== true ? [`${at} ${name} may be absent now`] : []),
    ]
  })
}
