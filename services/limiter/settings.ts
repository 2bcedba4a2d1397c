import { address, tcpAddress } from '../platform/address.ts'
import { logLevel } from '../platform/log.ts'
import {
  commaSeparated,
  notYet,
  oneOf,
  optional,
  path,
  type Reader,
  type ReadSettings,
  readSettings,
  type Settings,
  wholeNumber,
  withDefault,
} from '../platform/settings.ts'
import { tracingSettings } from '../platform/tracing-settings.ts'
import { parseRedisAddress, REDIS_ADDRESS_FORMS, type RedisAddress } from './redis/store-address.ts'
import type { StateFormat } from './redis/take-script.ts'

export type StoreAddress = { readonly kind: 'memory' } | RedisAddress

const store: Reader<StoreAddress> = {
  read: (text) => {
    const value = text === 'memory:' ? ({ kind: 'memory' } as const) : parseRedisAddress(text)
    return value === undefined ? { ok: false, expected: `memory:, ${REDIS_ADDRESS_FORMS}` } : { ok: true, value }
  },
}

const userName: Reader<string> = {
  read: (text) =>
    /^[^@/\s:]+$/.test(text) ? { ok: true, value: text } : { ok: false, expected: 'a name without spaces, @, / and :' },
}

const stateFormat: Reader<StateFormat> = {
  read: (text) =>
    text === '1' || text === '2' ? { ok: true, value: text === '1' ? 1 : 2 } : { ok: false, expected: '1 or 2' },
}

const table = {
  LIMITER_ADDRESS: withDefault(commaSeparated(address), [{ kind: 'tcp', host: '127.0.0.1', port: 50051 }]),
  LIMITER_ADMIN_ADDRESS: withDefault(tcpAddress, { kind: 'tcp', host: '127.0.0.1', port: 9091 }),
  LIMITER_ADMIN_TOKEN_FILE: optional(path),
  LIMITER_STORE: store,
  LIMITER_STORE_PASSWORD_FILE: optional(path),
  LIMITER_STORE_SENTINEL_USER: optional(userName),
  LIMITER_STORE_SENTINEL_PASSWORD_FILE: optional(path),
  LIMITER_STORE_TLS_CA: optional(path),
  LIMITER_STORE_TLS_CERT: optional(path),
  LIMITER_STORE_TLS_KEY: optional(path),
  LIMITER_STORE_DEADLINE_MS: withDefault(wholeNumber(1, 60_000), 15),
  LIMITER_SHARDS: withDefault(wholeNumber(1, 1024), 64),
  LIMITER_SHARD_SECRET_FILE: optional(path),
  LIMITER_STATE_FORMAT: withDefault(stateFormat, 2),
  LIMITER_WITNESSES: withDefault(oneOf('on', 'off'), 'on'),
  LIMITER_POLICIES: path,
  LIMITER_CANDIDATE_POLICIES: optional(path),
  LIMITER_CANDIDATE_SUBJECTS_PERCENT: withDefault(wholeNumber(1, 100), 100),
  LIMITER_ENVOY_HEADERS: withDefault(oneOf('refusals', 'always', 'never'), 'refusals'),
  LIMITER_PEERS: notYet,
  LIMITER_TLS_CERT: optional(path),
  LIMITER_TLS_KEY: optional(path),
  LIMITER_TLS_CLIENT_CA: optional(path),
  LOG_LEVEL: logLevel,
  ...tracingSettings,
} as const

export type LimiterSettings = Settings<typeof table>

export const readLimiterSettings = (environment: NodeJS.ProcessEnv): ReadSettings<typeof table> => {
  const read = readSettings(environment, table)
  const faults = read.ok ? storeFaults(read.settings) : []
  return faults.length === 0 ? read : { ok: false, faults }
}

/** Settings that the store named beside them would ignore, and halves of pairs: whoever set them believes something that is not so. */
const storeFaults = (settings: LimiterSettings) => {
  const { LIMITER_STORE: store } = settings
  const encrypted = 'tls' in store && store.tls
  const sentinels = store.kind === 'sentinel'
  return [
    ...(['LIMITER_STORE_TLS_CA', 'LIMITER_STORE_TLS_CERT', 'LIMITER_STORE_TLS_KEY'] as const)
      .filter((name) => settings[name] !== undefined && !encrypted)
      .map((name) => `${name} is set, but LIMITER_STORE is not encrypted: begin that with rediss or unset this`),
    ...(['LIMITER_STORE_SENTINEL_USER', 'LIMITER_STORE_SENTINEL_PASSWORD_FILE'] as const)
      .filter((name) => settings[name] !== undefined && !sentinels)
      .map(
        (name) => `${name} is set, but LIMITER_STORE names no Sentinels: unset it, or begin that with redis-sentinel`,
      ),
    ...(settings.LIMITER_STORE_SENTINEL_USER !== undefined &&
    settings.LIMITER_STORE_SENTINEL_PASSWORD_FILE === undefined
      ? ['LIMITER_STORE_SENTINEL_PASSWORD_FILE is not set, but LIMITER_STORE_SENTINEL_USER is: set both']
      : []),
    ...(encrypted ? halfOfPair(settings, 'LIMITER_STORE_TLS_CERT', 'LIMITER_STORE_TLS_KEY') : []),
  ]
}

const halfOfPair = <Name extends keyof LimiterSettings>(settings: LimiterSettings, ...pair: readonly [Name, Name]) => {
  const missing = pair.filter((name) => settings[name] === undefined)
  const there = pair.filter((name) => settings[name] !== undefined)
  return missing.length === 1 ? [`${missing} is not set, but ${there} is: set both, or neither`] : []
}
