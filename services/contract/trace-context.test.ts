import { expect, test } from 'vitest'
import { formatTraceparent, parseTraceContext } from './trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

test('a traceparent survives parse and format', () => {
  for (const flags of ['00', '01'])
    expect(formatTraceparent(parseTraceContext(`00-${traceId}-${spanId}-${flags}`) ?? expect.fail())).toBe(
      `00-${traceId}-${spanId}-${flags}`,
    )
})

test('a later version is read as far as it is known', () => {
  expect(parseTraceContext(`01-${traceId}-${spanId}-09-more`)).toEqual({ traceId, spanId, isSampled: true })
})

test('a tracestate is kept as it came, unless it is too long', () => {
  const parsed = (tracestate: string) => parseTraceContext(`00-${traceId}-${spanId}-01`, tracestate)
  expect(parsed('a=1,b=2')).toMatchObject({ tracestate: 'a=1,b=2' })
  expect(parsed(`a=${'1'.repeat(511)}`)).not.toHaveProperty('tracestate')
})

test.each([
  ['nothing', ''],
  ['no flags', `00-${traceId}-${spanId}`],
  ['version 00 with more than it has', `00-${traceId}-${spanId}-01-more`],
  ['the version that none is', `ff-${traceId}-${spanId}-01`],
  ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['no span', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['two headers as one', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ['far too much', `01-${traceId}-${spanId}-01-${'x'.repeat(1000)}`],
])('%s is no context', (_, traceparent) => {
  expect(parseTraceContext(traceparent)).toBeUndefined()
})
