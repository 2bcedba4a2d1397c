import { Type } from 'typebox'

/** The query string of a request that takes none. */
export const noParameters = Type.Object({}, { additionalProperties: false })
