import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Address, listenFault } from './address.ts'

/** What one path of the admin port answers. */
export type AdminPage = {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What somebody asks for in JSON. */
export type AdminCall = {
  readonly body: unknown
  readonly authorization: string | undefined
  readonly peer: string
}

/** A page; what is done with a question; or what keeps the response and goes on answering, unless it gives a page instead. */
export type AdminRoute =
  | (() => AdminPage | Promise<AdminPage>)
  | { readonly post: (call: AdminCall) => Promise<AdminPage> }
  | { readonly attach: (response: ServerResponse) => AdminPage | undefined }
export type AdminRoutes = Readonly<Record<string, AdminRoute>>

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

const MAX_BODY_BYTES = 64 * 1024

type Options = {
  /** The name of the setting that the address came from. */
  readonly setting: string
  readonly address: Extract<Address, { kind: 'tcp' }>
  readonly routes: AdminRoutes
}

/** Serves probes, metrics and what an operator looks at, never through the gate. */
export const openAdminServer = async ({ setting, address, routes }: Options): Promise<OpenAdminServer> => {
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      void answer(routes, request, response)
    },
  )
  server.maxConnections = 256
  const error = await listen(server, address)
  if (error !== undefined) return { ok: false, fault: listenFault(setting, address, error) }
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port
  return { ok: true, server: { port, [Symbol.asyncDispose]: () => close(server) } }
}

const answer = async (routes: AdminRoutes, request: IncomingMessage, response: ServerResponse) => {
  const page = await pageFor(routes, request, response)
  // Whoever streams has the response now, and nobody is there to read one that was closed.
  if (page === undefined || response.destroyed) return
  response.writeHead(page.status, { 'content-type': page.contentType, ...page.headers })
  response.end(request.method === 'HEAD' ? undefined : page.body)
}

const pageFor = async (
  routes: AdminRoutes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminPage | undefined> => {
  const { method } = request
  const path = (request.url ?? '').replace(/\?.*$/s, '')
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (route === undefined) return text(404, `No page ${path.slice(0, 200)}; there are ${Object.keys(routes).join(' ')}`)
  try {
    if ('post' in route) return method === 'POST' ? await answerCall(route.post, request) : wrongMethod(path, 'POST')
    if (method !== 'GET' && method !== 'HEAD') return wrongMethod(path, 'GET, HEAD')
    return 'attach' in route ? route.attach(response) : await route()
  } catch (error) {
    return text(500, `${path} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const wrongMethod = (path: string, allow: string) => ({ ...text(405, `${path} answers ${allow}`), headers: { allow } })

const answerCall = async (post: (call: AdminCall) => Promise<AdminPage>, request: IncomingMessage) => {
  // A page of another site cannot send this without asking first, and is never told that it may.
  if (request.headers['content-type'] !== 'application/json') return text(415, 'Send application/json')
  const body = await readJson(request)
  if (!body.ok) return text(body.status, body.problem)
  const { authorization } = request.headers
  const { remoteAddress, remotePort } = request.socket
  return post({ body: body.value, authorization, peer: `${remoteAddress}:${remotePort}` })
}

type ReadJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: number; readonly problem: string }

const readJson = async (request: IncomingMessage): Promise<ReadJson> => {
  const chunks: Buffer[] = []
  let bytes = 0
  // The answer still has to go out over what is left unread.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return { ok: false, status: 413, problem: `More than ${MAX_BODY_BYTES} bytes` }
    chunks.push(chunk)
  }
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) }
  } catch {
    return { ok: false, status: 400, problem: 'Not JSON' }
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
