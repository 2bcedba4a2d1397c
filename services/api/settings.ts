import { parseRefill } from '../bucket/refill.ts'
import { makeRule, ruleLimits } from '../bucket/rule.ts'
import type { FallbackPlan } from '../limiter-client/fallback.ts'
import { tcpAddress } from '../platform/address.ts'
import { logLevel } from '../platform/log.ts'
import {
  commaSeparated,
  oneOf,
  optional,
  path,
  type Reader,
  readSettings,
  type Settings,
  wholeNumber,
  withDefault,
} from '../platform/settings.ts'
import type { TlsPaths } from '../platform/tls-files.ts'
import { tracingSettings } from '../platform/tracing-settings.ts'
import { httpLimits } from './http/connection/limits.ts'
import { type Cidr, parseCidr } from './identify/ip-address.ts'

const limiterTarget: Reader<string> = {
  read: (text) =>
    /^(?:dns:\/\/\/[^\s/]+:\d{1,5}|unix:\/\S+)$/.test(text) || tcpAddress.read(text).ok
      ? { ok: true, value: text }
      : { ok: false, expected: 'host:port, dns:///name:port or unix:/path' },
}

const cidr: Reader<Cidr> = {
  read: (text) => {
    const value = parseCidr(text)
    return value === undefined
      ? {
          ok: false,
          expected: 'a block of addresses such as 10.0.0.0/8 (a block of all addresses would believe everybody)',
        }
      : { ok: true, value }
  },
}

type Refill = { readonly refillTokens: number; readonly periodS: number }

const refill: Reader<Refill> = {
  read: (text) => {
    const parsed = parseRefill(text)
    return parsed.ok ? { ok: true, value: parsed } : { ok: false, expected: parsed.problem.replace(/^must be /, '') }
  },
}

/** Judged by whoever opens it, whose message does not repeat the password in it. */
const databaseUrl: Reader<string> = { read: (text) => ({ ok: true, value: text }) }

const table = {
  API_ADDRESS: withDefault(tcpAddress, { kind: 'tcp', host: '127.0.0.1', port: 8080 }),
  API_ADMIN_ADDRESS: withDefault(tcpAddress, { kind: 'tcp', host: '127.0.0.1', port: 9092 }),
  API_LIMITER: withDefault(limiterTarget, '127.0.0.1:50051'),
  API_LIMITER_DEADLINE_MS: withDefault(wholeNumber(1, 10_000), 50),
  API_LIMITER_FALLBACK: withDefault(oneOf('local', 'allow', 'deny'), 'local'),
  API_LIMITER_FALLBACK_CAPACITY: withDefault(wholeNumber(1, ruleLimits.capacityTokens), 50),
  API_LIMITER_FALLBACK_REFILL: withDefault(refill, { refillTokens: 10, periodS: 1 }),
  API_LIMITER_TLS_CA: optional(path),
  API_LIMITER_TLS_CERT: optional(path),
  API_LIMITER_TLS_KEY: optional(path),
  API_CONNECTIONS_PER_ADDRESS: withDefault(wholeNumber(1, httpLimits.connections), httpLimits.connections / 8),
  API_TRUSTED_PROXIES: withDefault(commaSeparated(cidr), []),
  API_CURSOR_SECRET_FILE: optional(path),
  API_KEYS: optional(path),
  API_DEMO_ORDERS: optional(oneOf('yes', 'no')),
  DATABASE_URL: withDefault(databaseUrl, 'pglite:memory'),
  LOG_LEVEL: logLevel,
  ...tracingSettings,
} as const

export type ApiSettings = Settings<typeof table> & {
  readonly fallback: FallbackPlan
  /** Absent: the limiter is asked without TLS. */
  readonly limiterTls: TlsPaths | undefined
}

export type ReadApiSettings =
  | { readonly ok: true; readonly settings: ApiSettings }
  | { readonly ok: false; readonly faults: readonly string[] }

export const readApiSettings = (environment: Readonly<Record<string, string | undefined>>): ReadApiSettings => {
  const read = readSettings(environment, table)
  if (!read.ok) return read
  const plan = fallbackPlan(read.settings)
  const tls = limiterTls(read.settings)
  if (plan.ok && tls.ok)
    return { ok: true, settings: { ...read.settings, fallback: plan.fallback, limiterTls: tls.paths } }
  return { ok: false, faults: [plan, tls].flatMap((made) => (made.ok ? [] : made.faults)) }
}

type MadeTls =
  | { readonly ok: true; readonly paths: TlsPaths | undefined }
  | { readonly ok: false; readonly faults: readonly string[] }

const limiterTls = (settings: Settings<typeof table>): MadeTls => {
  const { API_LIMITER_TLS_CA: ca, API_LIMITER_TLS_CERT: cert, API_LIMITER_TLS_KEY: key } = settings
  if (ca === undefined && cert === undefined && key === undefined) return { ok: true, paths: undefined }
  const faults = [
    ...(ca === undefined
      ? ['API_LIMITER_TLS_CA is not set: set it to the file of the authority that signs the limiters']
      : []),
    ...(cert !== undefined && key === undefined
      ? ['API_LIMITER_TLS_KEY is not set: set it to the key of API_LIMITER_TLS_CERT']
      : []),
    ...(key !== undefined && cert === undefined
      ? ['API_LIMITER_TLS_CERT is not set: set it to the certificate of API_LIMITER_TLS_KEY']
      : []),
  ]
  return faults.length === 0 ? { ok: true, paths: { ca, cert, key } } : { ok: false, faults }
}

type MadePlan =
  | { readonly ok: true; readonly fallback: FallbackPlan }
  | { readonly ok: false; readonly faults: readonly string[] }

const fallbackPlan = (settings: Settings<typeof table>): MadePlan => {
  const kind = settings.API_LIMITER_FALLBACK
  const { refillTokens, periodS } = settings.API_LIMITER_FALLBACK_REFILL
  const made = makeRule(settings.API_LIMITER_FALLBACK_CAPACITY, refillTokens, periodS)
  if (!made.ok)
    return {
      ok: false,
      faults: made.problems.map(({ field, problem }) => `API_LIMITER_FALLBACK_${field.toUpperCase()} ${problem}`),
    }
  return { ok: true, fallback: kind === 'local' ? { kind, rule: made.rule } : { kind } }
}
