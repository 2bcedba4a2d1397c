import { parseTraceContext, type TraceContext } from '../../contract/trace-context.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import type { JointChecked } from '../core/joint-check.ts'
import type { Checked } from '../core/limiter.ts'
import type { RequestHeaders } from '../unary/method.ts'
import { traced } from './traced.ts'

type Options = {
  readonly tracing: Tracing
  readonly method: string
  readonly headers: RequestHeaders
  readonly domain: string
}

/** Answers a call, as a step of its caller's trace if it says that it is part of one. */
export const askedBy = <Answered extends Checked | JointChecked>(
  { tracing, headers, ...options }: Options,
  answer: () => Promise<Answered>,
): Promise<Answered> => {
  const parent = parentOf(headers)
  return parent === undefined ? answer() : traced({ tracing, parent, ...options }, answer)
}

const parentOf = ({ traceparent, tracestate }: RequestHeaders): TraceContext | undefined =>
  typeof traceparent === 'string'
    ? parseTraceContext(traceparent, typeof tracestate === 'string' ? tracestate : '')
    : undefined
