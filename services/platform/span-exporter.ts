import type { NodeSDKConfiguration } from '@opentelemetry/sdk-node'
import type { Log } from './log.ts'

export type SpanExporter = NodeSDKConfiguration['traceExporter']
export type Protocol = 'http/protobuf' | 'http/json' | 'grpc'

/** A collector that does not answer holds up the process's end no longer than this. */
const TIMEOUT_MS = 2_000

const timeout = () =>
  process.env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] === undefined &&
  process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] === undefined
    ? { timeoutMillis: TIMEOUT_MS }
    : {}

const open = async (protocol: Protocol): Promise<SpanExporter> => {
  switch (protocol) {
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter(timeout())
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter(timeout())
    case 'grpc':
      return new (await import('@opentelemetry/exporter-trace-otlp-grpc')).OTLPTraceExporter(timeout())
  }
}

/** Sends spans where `OTEL_EXPORTER_OTLP_*` says; says once that it cannot, and once that it can again. */
export const openSpanExporter = async (protocol: Protocol, log: Log): Promise<SpanExporter> => {
  const exporter = await open(protocol)
  let isFailing = false
  const tell = (fails: boolean) => {
    if (fails === isFailing) return
    isFailing = fails
    if (fails) log.warn({ event: 'tracing.failing' }, 'the collector does not take traces: they are dropped')
    else log.info({ event: 'tracing.recovered' }, 'the collector takes traces again')
  }
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        tell(result.code !== 0)
        done(result)
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  }
}
