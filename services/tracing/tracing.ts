import type { TraceContext } from '../contract/trace-context.ts'

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** One step of a request's way, with a beginning and an end. */
export type Span = {
  readonly at: TraceContext
  readonly rename: (name: string) => void
  readonly note: (attributes: SpanAttributes) => void
  /** This step has to do with another one that is not above it. */
  readonly linkTo: (other: TraceContext) => void
  /** `error`: the step failed, and why in a word. Nothing of a span that has ended changes any more. */
  readonly end: (error?: string) => void
}

export type SpanStart = {
  readonly kind: 'server' | 'client'
  /** Absent: the step begins a trace, if it is sampled. */
  readonly parent: TraceContext | undefined
  readonly links?: readonly TraceContext[]
  readonly attributes: SpanAttributes
}

/**
 * Tells the way of requests through this process to whoever collects traces. There is none while tracing is off: whatever can be
 * traced takes `undefined` instead, and does nothing for it.
 */
export type Tracing = {
  /** `undefined`: this step is not sampled, so nothing is told of it. */
  readonly start: (name: string, start: SpanStart) => Span | undefined
  /** The span is the active one for everything that the work does and leads to. */
  readonly run: <T>(span: Span, work: () => T) => T
  readonly active: () => Span | undefined
}
