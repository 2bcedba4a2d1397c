import { expect, test } from 'vitest'
import type { TraceContext } from '../../contract/trace-context.ts'
import type { Span, SpanStart, Tracing } from '../../tracing/tracing.ts'
import { traceCall } from './trace-call.ts'

const at = (digit: number): TraceContext => ({
  traceId: String(digit).repeat(32),
  spanId: String(digit).repeat(16),
  isSampled: true,
})

/** A span that notes what it is linked to. */
const openSpan = (context: TraceContext) => {
  const links: TraceContext[] = []
  const span: Span = {
    at: context,
    rename: () => {},
    note: () => {},
    linkTo: (other) => void links.push(other),
    end: () => {},
  }
  return { span, links }
}

const openTracing = () => {
  const started: SpanStart[] = []
  const tracing: Tracing = {
    start: (_, start) => {
      started.push(start)
      return openSpan(at(9)).span
    },
    run: (_, work) => work(),
    active: () => undefined,
  }
  return { tracing, started }
}

const untraced = { span: undefined }

test('a call that serves nobody who is traced has no span', () => {
  const { tracing, started } = openTracing()
  expect(traceCall(tracing, [{ members: [untraced, untraced] }])).toBeUndefined()
  expect(started).toEqual([])
})

test('a call is a step of the first traced check, and it and the others are linked both ways', () => {
  const { tracing, started } = openTracing()
  const [first, second, third] = [openSpan(at(1)), openSpan(at(2)), openSpan(at(3))]
  const batch = [{ members: [untraced, first, second] }, { members: [third, first] }]
  expect(
    traceCall(
      tracing,
      batch.map(({ members }) => ({ members: members.map(({ span }) => ({ span })) })),
    )?.at,
  ).toEqual(at(9))
  expect(started).toMatchObject([
    {
      kind: 'client',
      parent: at(1),
      links: [at(2), at(3)],
      attributes: { 'db.operation.batch.size': 2, 'weir.store.takes': 5, 'weir.store.traced_checks': 3 },
    },
  ])
  expect([first.links, second.links, third.links]).toEqual([[], [at(9)], [at(9)]])
})
