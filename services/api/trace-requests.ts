import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { parseTraceContext } from '../contract/trace-context.ts'
import type { LimiterClient } from '../limiter-client/client.ts'
import { decisionAttributes } from '../tracing/decision-attributes.ts'
import type { Span, Tracing } from '../tracing/tracing.ts'

export type RequestTraces = {
  /** Dispatches a request as a step of its client's trace, or as the beginning of one. */
  readonly dispatch: RequestListener
  /** By which route it was answered, as it is called in metrics. */
  readonly routed: (request: IncomingMessage, route: string) => void
}

/** A span for each request. It tells neither path nor header: clients put there what is nobody's business. */
export const createRequestTraces = (tracing: Tracing, dispatch: RequestListener): RequestTraces => {
  const spans = new WeakMap<IncomingMessage, Span>()
  return {
    dispatch: (request, response) => {
      const method = request.method ?? ''
      const span = tracing.start(method, {
        kind: 'server',
        parent: parseTraceContext(headerText(request, 'traceparent'), headerText(request, 'tracestate')),
        attributes: { 'http.request.method': method },
      })
      if (span === undefined) return dispatch(request, response)
      spans.set(request, span)
      response.once('close', () => endRequest(span, response))
      tracing.run(span, () => dispatch(request, response))
    },
    routed: (request, route) => {
      const span = spans.get(request)
      if (span === undefined) return
      span.rename(route)
      span.note({ 'http.route': route })
    },
  }
}

const endRequest = (span: Span, response: ServerResponse) => {
  const { statusCode, headersSent, writableFinished } = response
  if (headersSent) span.note({ 'http.response.status_code': statusCode })
  if (!writableFinished) span.end('aborted')
  else span.end(statusCode >= 500 ? String(statusCode) : undefined)
}

const headerText = ({ headers }: IncomingMessage, name: string) => {
  const lines = headers[name]
  return (Array.isArray(lines) ? lines.join() : lines) ?? ''
}

/** The limiter's client with a span for each question, which the limiter's own steps belong to. */
export const traceGate = (limiter: LimiterClient, tracing: Tracing): LimiterClient => ({
  ...limiter,
  shouldAllow: async (check) => {
    const request = tracing.active()
    const span =
      request &&
      tracing.start('gate', { kind: 'client', parent: request.at, attributes: { 'weir.domain': check.domain } })
    if (span === undefined) return limiter.shouldAllow(check)
    const gate = await tracing.run(span, () => limiter.shouldAllow(check))
    span.note({ 'weir.source': gate.source, ...decisionAttributes(gate.decision) })
    span.end(gate.source === 'fallback' ? gate.reason : undefined)
    return gate
  },
})
