import { createServer, type Server, type ServerResponse } from 'node:http'
import { type Address, listenFault } from './address.ts'

/** What one path of the admin port answers. */
export type AdminPage = { readonly status: number; readonly contentType: string; readonly body: string }
export type AdminRoutes = Readonly<Record<string, () => AdminPage | Promise<AdminPage>>>

export type AdminServer = AsyncDisposable & { readonly port: number }
export type OpenAdminServer =
  | { readonly ok: true; readonly server: AdminServer }
  | { readonly ok: false; readonly fault: string }

export const text = (status: number, body: string): AdminPage => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})

export const json = (value: unknown): AdminPage => ({
  status: 200,
  contentType: 'application/json',
  body: `${JSON.stringify(value, null, 2)}\n`,
})

type Options = {
  /** The name of the setting that the address came from. */
  readonly setting: string
  readonly address: Extract<Address, { kind: 'tcp' }>
  readonly routes: AdminRoutes
}

/** Serves probes, metrics and what an operator looks at: GET only, never through the gate. */
export const openAdminServer = async ({ setting, address, routes }: Options): Promise<OpenAdminServer> => {
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      void answer(routes, request.method ?? '', (request.url ?? '').replace(/\?.*$/s, ''), response)
    },
  )
  server.maxConnections = 256
  const error = await listen(server, address)
  if (error !== undefined) return { ok: false, fault: listenFault(setting, address, error) }
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port
  return { ok: true, server: { port, [Symbol.asyncDispose]: () => close(server) } }
}

const answer = async (routes: AdminRoutes, method: string, path: string, response: ServerResponse) => {
  const page = await pageFor(routes, method, path)
  response.writeHead(page.status, {
    'content-type': page.contentType,
    ...(page.status === 405 && { allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : page.body)
}

const pageFor = async (routes: AdminRoutes, method: string, path: string): Promise<AdminPage> => {
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (route === undefined) return text(404, `No page ${path.slice(0, 200)}; there are ${Object.keys(routes).join(' ')}`)
  if (method !== 'GET' && method !== 'HEAD') return text(405, `${path} answers GET`)
  try {
    return await route()
  } catch (error) {
    return text(500, `${path} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const listen = (server: Server, { host, port }: { readonly host: string; readonly port: number }) =>
  new Promise<Error | undefined>((resolve) => {
    server.once('error', resolve)
    server.listen({ host, port }, () => {
      server.removeListener('error', resolve)
      resolve(undefined)
    })
  })

const close = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
