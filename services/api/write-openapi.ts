// npm run openapi: writes openapi.v1.json anew, as the routes' schemas describe the API now, unless that broke clients of v1.
import { readFile, writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { buildApp } from './app.ts'
import { breakingChanges } from './compatibility/breaking-changes.ts'
import type { JsonObject } from './compatibility/json.ts'
import { createConnectionBook } from './http/connection/connection-book.ts'
import { createIdentify } from './identify/identify.ts'
import { createOrderRepository } from './orders/repository.ts'
import { ordersRoutes } from './orders/routes.ts'

const file = new URL('openapi.v1.json', import.meta.url)

/** The routes describe themselves without a request, so nothing here is ever asked. */
const unused = (): never => {
  throw new Error('a description needs no request')
}

const describe = async (): Promise<string> => {
  const app = buildApp({
    log: pino({ enabled: false }),
    identify: createIdentify({ trustedProxies: [], keys: () => new Map() }),
    limiter: { shouldAllow: unused, [Symbol.asyncDispose]: async () => {} },
    domain: 'api',
    resources: [
      ordersRoutes({
        orders: createOrderRepository({ query: unused, transaction: unused, [Symbol.asyncDispose]: async () => {} }),
        cursors: { sign: unused, verify: unused },
      }),
    ],
    isDraining: () => false,
    connections: createConnectionBook({ perAddress: 1, addressOf: unused }),
  })
  await app.ready()
  const document = JSON.stringify(app.swagger(), null, 2)
  await app.close()
  return `${document}\n`
}

const parse = (text: string): JsonObject => JSON.parse(text)

const present = await readFile(file, 'utf8').catch(() => '{}')
const document = await describe()
const breaks = breakingChanges(parse(present), parse(document))
if (breaks.length === 0) await writeFile(file, document)
else {
  process.stderr.write(
    `Not written, because clients of v1 would break:\n${breaks.map((line) => `  ${line}\n`).join('')}`,
  )
  process.exitCode = 1
}
