export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/** What is no object has no members. */
export const asObject = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !isArray(value) ? value : {}

/** A single value stands for a list of one, none for an empty one. */
export const asList = (value: Json | undefined): readonly Json[] =>
  value === undefined ? [] : isArray(value) ? value : [value]

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value)

/** The object itself, or the one of its document that it refers to. */
export type Resolve = (value: Json | undefined) => JsonObject

export const resolveIn =
  (document: JsonObject): Resolve =>
  (value) => {
    const object = asObject(value)
    const { $ref } = object
    if (typeof $ref !== 'string') return object
    const names = $ref.replace(/^#\//, '').split('/')
    const target = names.reduce<Json | undefined>((from, name) => asObject(from)[unescapePointer(name)], document)
    if (target === undefined) throw new Error(`the document refers to ${$ref}, which is not in it`)
    return resolveIn(document)(target)
  }

const unescapePointer = (name: string) => name.replaceAll('~1', '/').replaceAll('~0', '~')
