import { address, tcpAddress } from '../platform/address.ts'
import { logLevel } from '../platform/log.ts'
import { commaSeparated, notYet, optional, path, type Reader, readSettings, withDefault } from '../platform/settings.ts'

type Store = { readonly kind: 'memory' }

const store: Reader<Store> = {
  read: (text) =>
    text === 'memory:'
      ? { ok: true, value: { kind: 'memory' } }
      : { ok: false, expected: 'memory: (the only store of this version)' },
}

const table = {
  LIMITER_ADDRESS: withDefault(commaSeparated(address), [{ kind: 'tcp', host: '127.0.0.1', port: 50051 }]),
  LIMITER_ADMIN_ADDRESS: withDefault(tcpAddress, { kind: 'tcp', host: '127.0.0.1', port: 9091 }),
  LIMITER_ADMIN_TOKEN_FILE: optional(path),
  LIMITER_STORE: store,
  LIMITER_POLICIES: path,
  LIMITER_TLS_CERT: notYet,
  LIMITER_TLS_KEY: notYet,
  LIMITER_TLS_CLIENT_CA: notYet,
  LOG_LEVEL: logLevel,
} as const

export const readLimiterSettings = (environment: NodeJS.ProcessEnv) => readSettings(environment, table)
