import { Type } from 'typebox'

const etag = Type.String({ description: 'The version of the order, for `If-Match` and `If-None-Match`.' })

export const orderResponse = (description: string, headers: Readonly<Record<string, object>> = {}) => ({
  ...Type.Ref('Order'),
  description,
  headers: { ETag: etag, ...headers },
})
