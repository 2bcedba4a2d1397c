import type { DefinedError, ErrorObject } from 'ajv'
import { type ApiError, apiError } from './api-error.ts'
import type { Layout, Place } from './layout.ts'

/**
 * What a client is told of a value that does not fit its schema: the first fault in the order of the text. A field that is
 * missing is found to be at its object's end.
 */
export const firstFault = (errors: readonly ErrorObject[], { root, repeated }: Layout): ApiError | undefined => {
  const faults = [
    ...repeated.map(({ path, start }): Fault => ({ kind: 'repeated_field', path, start })),
    ...errors.map((error) => faultOf(error as DefinedError, root)),
  ]
  const [first, ...others] = faults
  if (first === undefined) return undefined
  return describe(others.reduce((earliest, fault) => (fault.start < earliest.start ? fault : earliest), first))
}

type Fault = { readonly path: readonly string[]; readonly start: number } & (
  | { readonly kind: 'missing_field' | 'unknown_field' | 'repeated_field' }
  | { readonly kind: 'wrong_type' | 'invalid_value'; readonly expected: string }
)

const faultOf = (error: DefinedError, root: Place): Fault => {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const place = placeOf(root, path)
  switch (error.keyword) {
    case 'required':
      return { kind: 'missing_field', path: [...path, error.params.missingProperty], start: place.end }
    case 'additionalProperties': {
      const name = error.params.additionalProperty
      return { kind: 'unknown_field', path: [...path, name], start: place.members.get(name)?.start ?? place.start }
    }
    case 'type': {
      // JSON has one type of number: 1.5 for a whole number has the right type and a wrong value.
      const kind = typeof error.data === 'number' && expectsNumber(error.params.type) ? 'invalid_value' : 'wrong_type'
      return { kind, path, start: place.start, expected: `must be ${[error.params.type].flat().join(' or ')}` }
    }
    default:
      return { kind: 'invalid_value', path, start: place.start, expected: expectation(error) }
  }
}

const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

const placeOf = (root: Place, path: readonly string[]) =>
  path.reduce((place, name) => place.members.get(name) ?? place, root)

// Ajv's types say one name; for a schema with several it gives a list.
const expectsNumber = (type: string | readonly string[]) =>
  [type].flat().some((name) => /^(integer|number)$/.test(name))

const expectation = (error: DefinedError) => {
  switch (error.keyword) {
    case 'enum':
      return `must be one of ${error.params.allowedValues.filter((value) => value !== null).join(', ')}`
    case 'pattern':
    case 'format': {
      const description: unknown = error.parentSchema?.['description']
      return typeof description === 'string' ? `does not fit: ${description.replace(/\.$/, '')}` : 'has a wrong format'
    }
    default:
      return error.message ?? 'is not valid'
  }
}

const describe = (fault: Fault): ApiError => {
  const field = dottedPath(fault.path)
  const name = field ?? 'The body'
  switch (fault.kind) {
    case 'missing_field':
      return apiError(400, fault.kind, `${name} is missing.`, field)
    case 'unknown_field':
      return apiError(400, fault.kind, `${name} is not known here.`, field)
    case 'repeated_field':
      return apiError(400, fault.kind, `${name} is given twice.`, field)
    case 'wrong_type':
      return apiError(400, fault.kind, `${name} ${fault.expected}.`, field)
    case 'invalid_value':
      return apiError(422, fault.kind, `${name} ${fault.expected}.`, field)
  }
}

/** An unknown name is its sender's and may be of any length; the whole of it helps nobody. */
const LONGEST_NAME = 64

const dottedPath = (path: readonly string[]) =>
  path.length === 0
    ? undefined
    : path.map((name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name)).join('.')
