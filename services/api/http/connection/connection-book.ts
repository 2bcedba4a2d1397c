import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpLimits } from './limits.ts'

export type RefusedConnections = { readonly address: number; readonly total: number }

/** Who is connected. */
export type ConnectionBook = {
  /** Closes at once what is more than its address, or the server, may have. */
  readonly keep: (server: Server) => void
  readonly open: () => number
  readonly refused: () => RefusedConnections
  /** Whether a request that has been read whole waits for its answer. */
  readonly isAnswering: () => boolean
  /** While true, a connection should not outlast a refusal: an attacker would fill what is left with idle ones. */
  readonly isNearlyFull: () => boolean
}

type Options = {
  /** How many connections one address may have at once. */
  readonly perAddress: number
  /** `undefined` for a peer that may have any number. */
  readonly addressOf: (peer: string | undefined) => string | undefined
  readonly connections?: number
}

export const createConnectionBook = (options: Options): ConnectionBook => {
  const { perAddress, addressOf, connections = httpLimits.connections } = options
  const counts = new Map<string, number>()
  const unanswered = new Set<ServerResponse>()
  let open = 0
  let refusedByAddress = 0
  let refusedInAll = 0

  const enter = (socket: Socket, address: string | undefined) => {
    open += 1
    if (address !== undefined) counts.set(address, (counts.get(address) ?? 0) + 1)
    socket.once('close', () => {
      open -= 1
      if (address === undefined) return
      const left = (counts.get(address) ?? 1) - 1
      if (left === 0) counts.delete(address)
      else counts.set(address, left)
    })
  }

  return {
    keep: (server) => {
      server.maxConnections = connections
      for (const event of ['request', 'checkContinue', 'checkExpectation'])
        server.on(event, (_request, response: ServerResponse) => {
          unanswered.add(response)
          response.once('close', () => unanswered.delete(response))
        })
      server.on('drop', () => {
        refusedInAll += 1
      })
      server.on('connection', (socket: Socket) => {
        const address = addressOf(socket.remoteAddress)
        if (address === undefined || (counts.get(address) ?? 0) < perAddress) return enter(socket, address)
        refusedByAddress += 1
        socket.destroy()
      })
    },
    open: () => open,
    isAnswering: () => unanswered.values().some(({ req, writableEnded }) => req.complete && !writableEnded),
    refused: () => ({ address: refusedByAddress, total: refusedInAll }),
    isNearlyFull: () => open >= connections * httpLimits.nearlyFullPart,
  }
}
