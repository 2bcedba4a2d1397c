import type { TraceContext } from '../../contract/trace-context.ts'
import { decisionAttributes } from '../../tracing/decision-attributes.ts'
import type { Span, Tracing } from '../../tracing/tracing.ts'
import type { JointChecked } from '../core/joint-check.ts'
import type { Checked } from '../core/limiter.ts'

type Options = {
  readonly tracing: Tracing
  readonly method: string
  /** What the caller says that the question is part of. */
  readonly parent: TraceContext
  readonly domain: string
}

/** Answers a question as a step of its caller's trace. */
export const traced = <Answered extends Checked | JointChecked>(
  { tracing, method, parent, domain }: Options,
  answer: () => Promise<Answered>,
): Promise<Answered> => {
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': method }
  const span = tracing.start(method, { kind: 'server', parent, attributes })
  return span === undefined ? answer() : tracing.run(span, () => told(span, domain, answer))
}

const told = async <Answered extends Checked | JointChecked>(
  span: Span,
  domain: string,
  answer: () => Promise<Answered>,
) => {
  try {
    const answered = await answer()
    if (answered.ok) {
      span.note({ 'weir.domain': domain, ...answerAttributes(answered) })
      span.end()
    } else span.end(answered.fault.kind)
    return answered
  } catch (error) {
    span.end('bug')
    throw error
  }
}

const answerAttributes = (answered: (Checked | JointChecked) & { readonly ok: true }) => {
  if ('answer' in answered) return decisionAttributes(answered.answer.decision)
  const { answers } = answered
  const decisive = answers.find(({ decision }) => decision.verdict === 'deny') ?? answers[0]
  return {
    'weir.descriptors': answers.length,
    ...(decisive !== undefined && decisionAttributes(decisive.decision)),
  }
}
