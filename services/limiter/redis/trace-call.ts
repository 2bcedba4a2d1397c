import type { Span, Tracing } from '../../tracing/tracing.ts'

type Part = { readonly members: readonly { readonly span: Span | undefined }[] }

/**
 * The span of one call of the script, which may serve many checks: a step of the first traced one, linked to the others, and each
 * of them to it, so that whoever looks at any of their traces finds the call. `undefined`: none of them is traced.
 */
export const traceCall = (tracing: Tracing, batch: readonly Part[]): Span | undefined => {
  const spans = new Set<Span>()
  let takes = 0
  for (const { members } of batch) {
    takes += members.length
    for (const { span } of members) if (span !== undefined) spans.add(span)
  }
  const [first, ...others] = spans
  if (first === undefined) return undefined
  const call = tracing.start('EVALSHA take.lua', {
    kind: 'client',
    parent: first.at,
    links: others.map(({ at }) => at),
    attributes: {
      'db.system.name': 'redis',
      'db.operation.name': 'EVALSHA',
      'db.stored_procedure.name': 'take.lua',
      'db.operation.batch.size': batch.length,
      'weir.store.takes': takes,
      'weir.store.traced_checks': spans.size,
    },
  })
  if (call !== undefined) for (const { linkTo } of others) linkTo(call.at)
  return call
}
