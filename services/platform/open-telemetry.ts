// Imported only where tracing is on: it loads OpenTelemetry's SDK.
import { hostname } from 'node:os'
import {
  context,
  createContextKey,
  createTraceState,
  type DiagLogger,
  DiagLogLevel,
  diag,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { envDetector, resourceFromAttributes, serviceInstanceIdDetector } from '@opentelemetry/resources'
import { NodeSDK } from '@opentelemetry/sdk-node'
import type { TraceContext } from '../contract/trace-context.ts'
import type { Span, Tracing } from '../tracing/tracing.ts'
import type { Log } from './log.ts'
import { cutOpaque } from './opaque.ts'
import { sampled } from './sampled.ts'
import { openSpanExporter, type Protocol } from './span-exporter.ts'

/** How long the end of a process waits for the last spans to be sent. */
const FLUSH_MS = 2_000
const LOG_MS = 10_000
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

type Options = { readonly service: string; readonly protocol: Protocol; readonly log: Log }

export const startOpenTelemetry = async ({ service, protocol, log }: Options): Promise<Tracing & AsyncDisposable> => {
  const sdk = new NodeSDK({
    traceExporter: await openSpanExporter(protocol, log),
    resource: resourceFromAttributes({ 'service.name': service, 'host.name': hostname() }),
    // Not what it finds out about the process: a command line may hold what is nobody's business.
    resourceDetectors: [envDetector, serviceInstanceIdDetector],
    metricReaders: [],
    logRecordProcessors: [],
  })
  diag.setLogger(diagLogger(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  sdk.start()
  return {
    ...createTracing(),
    [Symbol.asyncDispose]: () => {
      const over = Promise.withResolvers<void>()
      const timer = setTimeout(over.resolve, FLUSH_MS)
      return Promise.race([sdk.shutdown().catch(() => {}), over.promise]).finally(() => clearTimeout(timer))
    },
  }
}

const createTracing = (): Tracing => {
  const tracer = trace.getTracer('weir')
  const own = createContextKey('weir span')
  const active = () => {
    const span = context.active().getValue(own)
    return isOwn(span) ? span : undefined
  }
  return {
    start: (name, { kind, parent, links = [], attributes }) => {
      const under = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent))
      const options = {
        kind: KINDS[kind],
        attributes,
        links: links.map((link) => ({ context: toSpanContext(link) })),
      }
      const span = tracer.startSpan(name, options, under)
      return span.isRecording() ? toSpan(span) : undefined
    },
    run: (span, work) => context.with(context.active().setValue(own, span), work),
    active,
  }
}

const made = new WeakSet<object>()
const isOwn = (span: unknown): span is Span => typeof span === 'object' && span !== null && made.has(span)

const toSpan = (span: OtelSpan): Span => {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const tracestate = traceState?.serialize()
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
  const own: Span = {
    at: { traceId, spanId, isSampled, ...(tracestate !== undefined && tracestate !== '' && { tracestate }) },
    rename: (name) => void span.updateName(name),
    note: (attributes) => void span.setAttributes(attributes),
    linkTo: (other) => {
      if (span.isRecording()) span.addLink({ context: toSpanContext(other) })
    },
    end: (error) => {
      if (error !== undefined) {
        span.setAttribute('error.type', error)
        span.setStatus({ code: SpanStatusCode.ERROR, message: error })
      }
      span.end()
    },
  }
  made.add(own)
  return own
}

const toSpanContext = ({ traceId, spanId, isSampled, tracestate }: TraceContext): SpanContext => {
  const told = tracestate === undefined ? '' : withoutCredentials(tracestate)
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(told !== '' && { traceState: createTraceState(told) }),
  }
}

/** Its entries are anybody's text, and are sent on and kept: those that may be a credential are left out. */
const withoutCredentials = (tracestate: string) =>
  tracestate
    .split(',')
    .filter((entry) => cutOpaque(entry) === entry)
    .join(',')

/** What the SDK has to say: that its queue was full, above all. */
const diagLogger = (log: Log): DiagLogger => {
  const ignore = () => {}
  const tell = sampled(LOG_MS, (message: string, unsaid) =>
    log.warn({ event: 'tracing.warning', detail: cutOpaque(message.slice(0, 200)), unsaid }, 'tracing has a problem'),
  )
  // Its errors are failures to export, which the exporter tells.
  return {
    error: ignore,
    warn: (...said) => tell(said.filter((part) => typeof part === 'string').join(' ')),
    info: ignore,
    debug: ignore,
    verbose: ignore,
  }
}
