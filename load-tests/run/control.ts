import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { MetricsPage } from '../lib/process-reading.ts'

/** What k6 asks of its surroundings while it runs. */
export type Surroundings = {
  /** Absent where this side cannot look. */
  readonly pages?: () => Promise<readonly MetricsPage[]>
  /** Resolves when the fault is there, with what shows it; rejects where it could not be made. */
  readonly makeFault: (fault: string) => Promise<string>
}

export type Control = AsyncDisposable & { readonly url: string }

/** An HTTP server on loopback, for k6 alone. `POST /faults/NAME`, `GET /processes`. */
export const startControl = async ({ pages, makeFault }: Surroundings): Promise<Control> => {
  const server = createServer(({ method, url = '' }, response) => {
    const fault = /^\/faults\/([a-z0-9-]+)$/.exec(url)?.[1]
    if (method === 'POST' && fault !== undefined) void answer(response, makeFaultAloud(fault, makeFault))
    else if (method === 'GET' && url === '/processes' && pages !== undefined)
      void answer(
        response,
        pages().then((all) => JSON.stringify(all)),
      )
    else response.writeHead(404).end()
  })
  server.requestTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the control has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const makeFaultAloud = async (fault: string, makeFault: Surroundings['makeFault']) => {
  process.stderr.write(`\nfault: ${fault} …\n`)
  const shown = await makeFault(fault)
  process.stderr.write(`\nfault: ${fault}: ${shown}\n`)
  return shown
}

const answer = async (response: ServerResponse, text: Promise<string>) => {
  try {
    const body = await text
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  } catch (error) {
    process.stderr.write(`${String(error)}\n`)
    response.writeHead(500).end(String(error))
  }
}
