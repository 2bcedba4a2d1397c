import { createHash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { errorResponses } from '../http/error-responses.ts'
import { isKnown } from '../http/etag.ts'
import { noParameters } from '../http/no-parameters.ts'
import type { SchemaTypes } from '../http/schema-types.ts'
import { readStrictly } from '../http/strict-input.ts'

/** The API's own description. */
export const documentRoute: FastifyPluginAsync = async (app) => {
  let document: { readonly bytes: Buffer; readonly tag: string } | undefined
  const read = () => {
    const bytes = Buffer.from(JSON.stringify(app.swagger()))
    return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
  }

  readStrictly(app)
  app.withTypeProvider<SchemaTypes>().get(
    '/v1/openapi.json',
    {
      schema: {
        operationId: 'getDocument',
        tags: ['document'],
        summary: 'This document',
        querystring: noParameters,
        headers: Type.Object({ 'if-none-match': Type.Optional(Type.String({ description: 'An `ETag` of before.' })) }),
        response: {
          200: {
            ...Type.Object({ openapi: Type.String(), info: Type.Object({}), paths: Type.Object({}) }),
            description: 'The API as OpenAPI 3.1 describes it.',
            headers: { ETag: Type.String({ description: 'The version of the document.' }) },
          },
          304: Type.Null({ description: 'The client has it already.' }),
          ...errorResponses('invalid_value'),
        },
      },
    },
    async (request, reply) => {
      document ??= read()
      const { bytes, tag } = document
      reply.headers({ etag: tag, 'cache-control': 'no-cache' })
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
      return reply.header('content-type', 'application/json').send(bytes)
    },
  )
}
