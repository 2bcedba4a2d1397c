/**
 * A place in a trace, which what comes next refers to: W3C Trace Context. It travels beside a check and is no part of it, so
 * that two checks that ask the same are the same.
 */
export type TraceContext = {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  /** Whether the trace is kept. */
  readonly isSampled: boolean
  /** What other systems tell each other; as it came. */
  readonly tracestate?: string
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
/** What W3C asks everybody to pass on. */
const MAX_TRACESTATE = 512
const MAX_TRACEPARENT = 128
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** The header `traceparent`, of any version; `undefined` when it makes no sense. A `tracestate` that is too long is left out. */
export const parseTraceContext = (traceparent: string, tracestate = ''): TraceContext | undefined => {
  if (traceparent.length > MAX_TRACEPARENT) return undefined
  const [, version, traceId = NO_TRACE, spanId = NO_SPAN, flags = '', rest] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  if (version === '00' && rest !== undefined) return undefined
  const context = { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
  return tracestate === '' || tracestate.length > MAX_TRACESTATE ? context : { ...context, tracestate }
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceContext) =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
