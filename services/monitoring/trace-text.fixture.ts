import type { ReceivedSpan } from './otlp-receiver.fixture.ts'

/** A trace as text: each step below the one that it belongs to, with when it began and how long it took. */
export const traceText = (spans: readonly ReceivedSpan[]) => {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const firstUs = Math.min(...spans.map(({ startUs }) => startUs))
  const lines = (parent: readonly ReceivedSpan[], depth: number): readonly string[] =>
    parent
      .toSorted((a, b) => a.startUs - b.startUs)
      .flatMap((span) => [
        line(span, depth, firstUs),
        ...lines(
          spans.filter(({ parentId }) => parentId === span.spanId),
          depth + 1,
        ),
      ])
  const tops = spans.filter(({ parentId }) => !ids.has(parentId))
  return `trace ${spans[0]?.traceId}\n${lines(tops, 0).join('\n')}\n`
}

const ms = (us: number) => `${(us / 1000).toFixed(1)} ms`

const line = (span: ReceivedSpan, depth: number, firstUs: number) => {
  const name = `${depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `}${span.name}`
  const told = Object.entries(span.attributes)
    .filter(([key]) => !/^(?:rpc|db\.(?:system|operation\.name|stored))|^http\.(?:route|request)/.test(key))
    .map(([key, value]) => `${key.replace(/^weir\./, '')}=${value}`)
  const links = span.links.length === 0 ? [] : [`links=${span.links.length}`]
  return [
    name.padEnd(44),
    span.service.padEnd(13),
    ms(span.startUs - firstUs).padStart(8),
    ms(span.endUs - span.startUs).padStart(8),
    ` ${[...told, ...links, ...(span.error === undefined ? [] : [`error=${span.error}`])].join(' ')}`,
  ].join(' ')
}
