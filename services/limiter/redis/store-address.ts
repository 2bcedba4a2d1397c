/** Where the buckets live, as `LIMITER_STORE` says it. */
export type RedisAddress =
  | {
      readonly kind: 'single'
      readonly nodes: readonly [Node]
      readonly user: string | undefined
      readonly tls: boolean
      readonly db: number
    }
  | {
      readonly kind: 'cluster'
      readonly nodes: readonly Node[]
      readonly user: string | undefined
      readonly tls: boolean
    }
  | {
      readonly kind: 'sentinel'
      readonly nodes: readonly Node[]
      readonly user: string | undefined
      /** To the Sentinels and to the servers that they name. */
      readonly tls: boolean
      readonly name: string
    }
  | { readonly kind: 'unix'; readonly path: string; readonly user: string | undefined }

type Node = { readonly host: string; readonly port: number }

export const REDIS_ADDRESS_FORMS =
  'redis://[user@]host:port[/db], rediss://…, redis-cluster://[user@]host:port,host:port, rediss-cluster://…, redis-sentinel://[user@]host:port,…/name, rediss-sentinel://… or redis+unix:///path'

const SERVER_PORT = 6379
const SENTINEL_PORT = 26_379
const SYNTAX =
  /^(?<scheme>redis|rediss|redis-cluster|rediss-cluster|redis-sentinel|rediss-sentinel):\/\/(?:(?<user>[^@/\s:]+)@)?(?<hosts>[^/@\s]+)(?:\/(?<rest>[^/\s]*))?$/

/** `undefined`: the text has none of the forms. A password in it is none: it would show in process lists. */
export const parseRedisAddress = (text: string): RedisAddress | undefined => {
  const path = /^redis\+unix:\/\/(?:(?<user>[^@/\s:]+)@)?(?<path>\/\S+)$/.exec(text)?.groups
  if (path?.['path'] !== undefined) return { kind: 'unix', path: path['path'], user: path['user'] }
  const { scheme = '', user, hosts = '', rest = '' } = SYNTAX.exec(text)?.groups ?? {}
  const usualPort = scheme.endsWith('-sentinel') ? SENTINEL_PORT : SERVER_PORT
  const nodes = hosts.split(',').flatMap((host) => parseNode(host, usualPort))
  if (nodes.length !== hosts.split(',').length) return undefined
  const tls = scheme.startsWith('rediss')
  const [first] = nodes
  switch (scheme) {
    case 'redis':
    case 'rediss': {
      if (first === undefined || nodes.length > 1 || !/^\d{0,4}$/.test(rest)) return undefined
      return { kind: 'single', nodes: [first], user, tls, db: Number(rest) }
    }
    case 'redis-cluster':
    case 'rediss-cluster':
      return rest === '' ? { kind: 'cluster', nodes, user, tls } : undefined
    case 'redis-sentinel':
    case 'rediss-sentinel':
      return rest === '' ? undefined : { kind: 'sentinel', nodes, user, tls, name: rest }
    default:
      return undefined
  }
}

const parseNode = (text: string, usualPort: number): readonly Node[] => {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<name>[^[\]:]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups
  const host = match?.['ipv6'] ?? match?.['name']
  const port = Number(match?.['port'] ?? usualPort)
  return host === undefined || port < 1 || port > 65_535 ? [] : [{ host, port }]
}
