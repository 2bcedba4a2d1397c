import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { openTlsFiles, type TlsMaterial } from '../platform/tls-files.ts'
import type { ServerTls } from './listen/listener.ts'
import type { LimiterSettings } from './settings.ts'

type OpenTls =
  | { readonly ok: true; readonly tls: LiveTls | undefined }
  | { readonly ok: false; readonly faults: readonly string[] }

export type LiveTls = Disposable & {
  readonly current: () => ServerTls
  /** Told of each new content of the files. */
  readonly onRenewal: (renew: (tls: ServerTls) => void) => void
}

/** Opens the files that `LIMITER_TLS_*` name; `undefined` when they name none. */
export const openTls = async (settings: LimiterSettings, log: Log, metrics: Metrics): Promise<OpenTls> => {
  const { LIMITER_TLS_CERT: cert, LIMITER_TLS_KEY: key, LIMITER_TLS_CLIENT_CA: ca } = settings
  if (cert === undefined && key === undefined && ca === undefined) return { ok: true, tls: undefined }
  if (cert === undefined || key === undefined)
    return { ok: false, faults: ['LIMITER_TLS_CERT and LIMITER_TLS_KEY: set both, or no LIMITER_TLS_ at all'] }

  const reloads = { accepted: 0, rejected: 0 }
  let tell = (_: ServerTls) => {}
  const opened = await openTlsFiles({
    paths: { cert, key, ca },
    onReload: (reload) => {
      reloads[reload.ok ? 'accepted' : 'rejected'] += 1
      if (!reload.ok)
        return log.error(
          { event: 'tls.rejected', problems: reload.problems },
          'TLS files rejected; the last good ones stay in force',
        )
      log.info({ event: 'tls.reloaded', expires: reload.value.identity?.expires }, 'TLS files reloaded')
      tell(serverTls(reload.value))
    },
  })
  if (!opened.ok) return { ok: false, faults: opened.problems.map((problem) => `LIMITER_TLS_*: ${problem}`) }
  const { file } = opened
  metrics.gauge({
    name: 'weir_tls_certificate_expires_timestamp_seconds',
    help: 'When the certificate that the gRPC port shows expires.',
    labels: [],
    read: () => [{ labels: {}, value: (file.current().identity?.expires.getTime() ?? 0) / 1000 }],
  })
  metrics.counter({
    name: 'weir_tls_reloads_total',
    help: 'Changes of the TLS files; a rejected one left the last good files in force.',
    labels: ['result'],
    read: () => Object.entries(reloads).map(([result, value]) => ({ labels: { result }, value })),
  })
  return {
    ok: true,
    tls: {
      current: () => serverTls(file.current()),
      onRenewal: (renew) => {
        tell = renew
      },
      [Symbol.dispose]: () => file[Symbol.dispose](),
    },
  }
}

const serverTls = ({ identity, ca }: TlsMaterial): ServerTls => ({
  cert: identity?.cert ?? '',
  key: identity?.key ?? '',
  clientCa: ca,
})
