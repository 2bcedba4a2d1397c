import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { errorCodes } from '../http/error-codes.ts'
import { anonymousPermissions, type Permission } from '../identify/caller.ts'
import { browserPage } from './browser-page.ts'
import { commonHeaders } from './common-headers.ts'
import { commonResponses, withCommonResponses } from './common-responses.ts'
import { documentRoute } from './document-route.ts'
import { introduction } from './introduction.ts'

/**
 * Serves a description of every route that is registered after it, generated from the schemas that requests are held to, and
 * a page that shows it. `app.swagger()` is the document, once the app is ready.
 */
export const describeApi = (app: FastifyInstance) => {
  app.register(swagger, {
    openapi: about,
    stripBasePath: false,
    convertConstToEnum: false,
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, index) => String($id ?? index) },
    transform: ({ schema, url, route }) => ({
      schema: { ...schema, security: securityOf(route.config?.permission) },
      url,
    }),
    transformObject: (described) =>
      'openapiObject' in described ? withCommonResponses(described.openapiObject) : described.swaggerObject,
  })
  app.register(documentRoute)
  app.register(browserPage)
}

const bearer = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API key. Two keys of one owner see the same orders and share one rate limit.',
} as const

const about = {
  openapi: '3.1.0',
  info: {
    title: 'Weir reference API',
    version: '1.0.0',
    summary: 'Orders of a shop, behind a rate limiter that tells the truth',
    description: introduction,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  tags: [
    { name: 'orders', description: 'Orders, and the items in them.' },
    { name: 'document', description: 'What you are reading.' },
  ],
  components: { securitySchemes: { apiKey: bearer }, headers: commonHeaders, responses: commonResponses },
  'x-error-codes': errorCodes,
}

/** The alternatives, of which the empty one stands for no key at all. */
const securityOf = (permission: Permission | undefined) =>
  permission === undefined || anonymousPermissions.has(permission)
    ? [{}, { apiKey: [permission ?? []].flat() }]
    : [{ apiKey: [permission] }]
