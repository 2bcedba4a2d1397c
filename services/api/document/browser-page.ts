import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { FastifyPluginAsync } from 'fastify'
import { noParameters } from '../http/no-parameters.ts'
import { readStrictly } from '../http/strict-input.ts'

const packages = createRequire(import.meta.url)
const { version } = packages('swagger-ui-dist/package.json') as { readonly version: string }

/**
 * The document for people, in their browser. Everything that the page needs comes from here and counts against its reader's rate
 * limit, so it is little: two files beside the page, under names that change with their content and are kept for good.
 */
export const browserPage: FastifyPluginAsync = async (app) => {
  const style = { file: 'swagger-ui.css', name: `swagger-ui-${version}.css`, type: 'text/css; charset=utf-8' }
  const script = {
    file: 'swagger-ui-bundle.js',
    name: `swagger-ui-${version}.js`,
    type: 'text/javascript; charset=utf-8',
  }
  readStrictly(app)
  const page = pageWith(style.name, script.name)

  app.get('/v1/docs', { schema: hidden }, async (_request, reply) =>
    reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-cache',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .send(page),
  )
  for (const { file, name, type } of [style, script]) {
    const content = await readFile(packages.resolve(`swagger-ui-dist/${file}`))
    app.get(`/v1/docs/${name}`, { schema: hidden }, async (_request, reply) =>
      reply
        .headers({
          'content-type': type,
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
        })
        .send(content),
    )
  }
}

const hidden = { hide: true, querystring: noParameters }

const start = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, defaultModelsExpandDepth: -1 })`

/** Its links are relative, so that the page also works behind a proxy that serves the API below a path of its own. */
const pageWith = (style: string, script: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir reference API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/${style}">
<div id="page"></div>
<script src="docs/${script}"></script>
<script>${start}</script>
</html>
`

/** The browser fetches nothing from elsewhere, and runs no script but the two above. */
const policy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(start).digest('base64')}'`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
