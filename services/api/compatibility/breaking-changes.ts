import { isDeepStrictEqual } from 'node:util'
import { asList, asObject, type JsonObject, resolveIn } from './json.ts'
import { operationBreaks } from './operation-breaks.ts'

/**
 * What an OpenAPI document takes from the clients of the one before, each as a line for a person; none if every client that kept
 * to the one before is served as it was. What is added breaks nobody.
 */
export const breakingChanges = (before: JsonObject, after: JsonObject): readonly string[] => {
  const references = { before: resolveIn(before), after: resolveIn(after) }
  const paths = { before: asObject(before['paths']), after: asObject(after['paths']) }
  return [
    ...Object.keys(paths.before).flatMap((path) => {
      if (paths.after[path] === undefined) return [`${path} is gone`]
      const operations = { before: operationsOf(before, path), after: operationsOf(after, path) }
      return [...operations.before].flatMap(([method, operation]) => {
        const at = `${method.toUpperCase()} ${path}`
        const kept = operations.after.get(method)
        return kept === undefined
          ? [`${at} is gone`]
          : operationBreaks({ before: operation, after: kept, references, at })
      })
    }),
    ...errorCodeBreaks(asObject(before['x-error-codes']), asObject(after['x-error-codes'])),
    ...schemeBreaks(schemesOf(before), schemesOf(after)),
  ]
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']

/** By method, each with what its path and the document state for all of theirs. */
const operationsOf = (document: JsonObject, path: string) => {
  const item = asObject(asObject(document['paths'])[path])
  return new Map(
    METHODS.filter((method) => item[method] !== undefined).map((method): [string, JsonObject] => {
      const operation = asObject(item[method])
      return [
        method,
        {
          ...operation,
          parameters: [...asList(item['parameters']), ...asList(operation['parameters'])],
          security: operation['security'] ?? document['security'] ?? [{}],
        },
      ]
    }),
  )
}

const errorCodeBreaks = (before: JsonObject, after: JsonObject) =>
  Object.entries(before).flatMap(([code, entry]) => {
    if (after[code] === undefined) return [`error code ${code} is gone`]
    const [status, statusNow] = [asObject(entry)['status'], asObject(after[code])['status']]
    return status === statusNow ? [] : [`error code ${code} status: ${status} → ${statusNow}`]
  })

const schemesOf = (document: JsonObject) => asObject(asObject(document['components'])['securitySchemes'])

const schemeBreaks = (before: JsonObject, after: JsonObject) =>
  Object.entries(before)
    .filter(([name, scheme]) => !isDeepStrictEqual(undescribed(scheme), undescribed(after[name])))
    .map(([name]) => `security scheme ${name} is another one or gone`)

const undescribed = (scheme: Parameters<typeof asObject>[0]) => ({ ...asObject(scheme), description: null })
