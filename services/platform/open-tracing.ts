import type { Tracing } from '../tracing/tracing.ts'
import type { Log } from './log.ts'
import type { TracingSettings } from './tracing-settings.ts'

type Options = { readonly service: string; readonly settings: TracingSettings; readonly log: Log }

/**
 * Tracing, if there is somewhere to send traces to. If not, OpenTelemetry's SDK is not even loaded. Disposing of it sends what is
 * left, or gives it up.
 */
export const openTracing = async ({
  service,
  settings,
  log,
}: Options): Promise<(Tracing & AsyncDisposable) | undefined> => {
  const endpoint = settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined || settings.OTEL_SDK_DISABLED === 'true') return undefined
  const { startOpenTelemetry } = await import('./open-telemetry.ts')
  const protocol = settings.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? settings.OTEL_EXPORTER_OTLP_PROTOCOL
  const tracing = await startOpenTelemetry({ service, protocol: protocol ?? 'http/protobuf', log })
  log.info({ event: 'tracing.on' }, 'traces are sent')
  return tracing
}
