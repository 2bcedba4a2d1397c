import { Cluster, Redis } from 'ioredis'
import { type Sent, send } from './send.ts'
import type { RedisAddress } from './store-address.ts'

export type Credentials = {
  readonly password: string | undefined
  /** Of the Sentinels, which know other users than the servers that they watch. */
  readonly sentinelUser: string | undefined
  readonly sentinelPassword: string | undefined
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** What the room needs of a connection to any kind of Redis. */
export type RedisConnection = AsyncDisposable & {
  /** Sends one command to the node that has the key (the third argument of EVAL and EVALSHA). Rejects at once when there is no connection; see `send.ts`. */
  readonly call: (command: string, ...args: (string | Buffer)[]) => Promise<unknown>
  /** The same, and the connection that it took. */
  readonly callOver: (command: string, ...args: (string | Buffer)[]) => Promise<Sent>
  /** Resolves when commands can be sent; rejects with why not. */
  readonly connect: () => Promise<void>
  /** Why a connection failed last. */
  readonly lastError: () => Error | undefined
}

const RECONNECT_MIN_MS = 50
/** Short: whoever is back first sees a bucket that the others have not charged yet, and admits too much for as long as they take. */
const RECONNECT_MAX_MS = 500
const CONNECT_TIMEOUT_MS = 2_000
/** A connection that has been silent this long with a command under way is given up. */
const SOCKET_TIMEOUT_MS = 2_000
const MAX_REDIRECTIONS = 4

type Options = {
  readonly address: RedisAddress
  readonly credentials: Credentials
  readonly randomness: () => number
  /** A connection failed; ioredis tries again by itself. */
  readonly onError: (error: Error) => void
}

export const createConnection = ({ address, credentials, randomness, onError }: Options): RedisConnection => {
  const client = createClient(address, credentials, randomness)
  let lastError: Error | undefined
  client.on('error', (error: Error) => {
    lastError = reasonOf(error)
    onError(lastError)
  })
  return {
    call: async (command, ...args) => (await send(client, command, args)).reply,
    callOver: (command, ...args) => send(client, command, args),
    // ioredis rejects with what followed from the error, not with the error. While a cluster is not up it tries again by itself, and its
    // promise of before is never settled.
    connect: () =>
      new Promise((resolve, reject) => {
        client.once('ready', resolve)
        client
          .connect()
          .catch((error: unknown) => reject(lastError ?? (error instanceof Error ? reasonOf(error) : error)))
      }),
    lastError: () => lastError,
    [Symbol.asyncDispose]: async () => {
      // A connection that is not up cannot say good-bye.
      if (client.status === 'ready') await client.quit().catch(() => {})
      client.disconnect()
    },
  }
}

/** Of a cluster ioredis only says that no node has answered well; why not is told beside it. */
const reasonOf = (error: Error) =>
  'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error

const createClient = (address: RedisAddress, credentials: Credentials, randomness: () => number) => {
  const retryDelayMs = (attempt: number) =>
    Math.max(RECONNECT_MIN_MS, randomness() * Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** attempt))
  const { password, sentinelUser, sentinelPassword, ca, cert, key } = credentials
  const tls = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
  const shared = {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    keepAlive: 5_000,
    // A take that nobody knows the fate of is never sent again.
    autoResendUnfulfilledCommands: false,
    // CLIENT SETINFO is not among the limiter's rights: Redis 7.0 does not know it and could not grant it.
    disableClientInfo: true,
    maxRetriesPerRequest: 0,
    ...(address.user !== undefined && { username: address.user }),
    ...(password !== undefined && { password }),
  }
  const alone = { ...shared, enableOfflineQueue: false, retryStrategy: retryDelayMs }
  switch (address.kind) {
    case 'single': {
      const [node] = address.nodes
      return new Redis({ ...alone, ...node, db: address.db, ...(address.tls && { tls }) })
    }
    case 'unix':
      return new Redis({ ...alone, path: address.path })
    case 'sentinel':
      return new Redis({
        ...alone,
        sentinels: [...address.nodes],
        name: address.name,
        sentinelRetryStrategy: retryDelayMs,
        ...(sentinelUser !== undefined && { sentinelUsername: sentinelUser }),
        ...(sentinelPassword !== undefined && { sentinelPassword }),
        ...(address.tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
      })
    case 'cluster':
      return new Cluster([...address.nodes], {
        lazyConnect: true,
        enableOfflineQueue: false,
        scaleReads: 'master',
        maxRedirections: MAX_REDIRECTIONS,
        retryDelayOnFailover: 0,
        retryDelayOnClusterDown: 0,
        retryDelayOnTryAgain: 0,
        retryDelayOnMoved: 0,
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        clusterRetryStrategy: retryDelayMs,
        redisOptions: { ...shared, ...(address.tls && { tls }) },
      })
  }
}
