import { expect, test } from 'vitest'
import { parseRequest } from './request.ts'

type Request = Parameters<typeof parseRequest>[0]
type Descriptor = Request['descriptors'][number]

const descriptor = (entries: Readonly<Record<string, string>>, more: Partial<Descriptor> = {}): Descriptor => ({
  entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
  ...more,
})

const partsOf = (request: Partial<Request>) => {
  const parsed = parseRequest({ domain: 'api', descriptors: [], ...request })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.fault))
  return parsed.check.parts
}

test('each descriptor is a part; it costs its own hits, else the request’s, else 1', () => {
  const descriptors = [descriptor({ a: 'x' }), descriptor({ b: 'y' }, { hitsAddend: { value: 5 } })]
  expect(partsOf({ descriptors }).map(({ cost }) => cost)).toEqual([1, 5])
  expect(partsOf({ descriptors, hitsAddend: 3 }).map(({ cost }) => cost)).toEqual([3, 5])
})

test('hits of 0 are 1 for a request, where proto3 cannot tell it from nothing, and 0 for a descriptor', () => {
  const descriptors = [descriptor({ a: 'x' }), descriptor({ b: 'y' }, { hitsAddend: { value: 0 } })]
  expect(partsOf({ descriptors, hitsAddend: 0 }).map(({ cost }) => cost)).toEqual([1, 0])
  expect(partsOf({ descriptors: [descriptor({ b: 'y' }, { hitsAddend: {} })] })[0]?.cost).toBe(0)
})

test('a limit of the descriptor holds; one without a unit is none', () => {
  const limited = (limit: NonNullable<Descriptor['limit']>) =>
    partsOf({ descriptors: [descriptor({ a: 'x' }, { limit })] })[0]?.limit
  expect(limited({ requestsPerUnit: 7, unit: 'HOUR' })).toEqual({ capacityTokens: 7, refillTokens: 7, periodS: 3600 })
  expect(limited({ requestsPerUnit: 7, unit: 'UNKNOWN' })).toBeUndefined()
  expect(limited({ requestsPerUnit: 7 })).toBeUndefined()
})

test('a value that a client made too long keeps its beginning, and two of them are not one', () => {
  const pathOf = (value: string) => partsOf({ descriptors: [descriptor({ path: value })] })[0]?.attributes.get('path')
  const [one, other] = [pathOf(`/v1/${'é'.repeat(2_000)}a`), pathOf(`/v1/${'é'.repeat(2_000)}b`)]
  expect(one).toMatch(/^\/v1\/é+#[\w-]{43}$/)
  expect(Buffer.byteLength(one ?? '')).toBeLessThanOrEqual(1024)
  expect(one).not.toBe(other)
  expect(pathOf('é'.repeat(512))).toBe('é'.repeat(512))
})

test('what Envoy’s configuration got wrong is a fault that names the field', () => {
  const faultOf = (request: Partial<Request>) => {
    const parsed = parseRequest({ domain: 'api', descriptors: [descriptor({ a: 'x' })], ...request })
    return parsed.ok || parsed.fault.kind !== 'invalid' ? undefined : parsed.fault.field
  }
  const crowded = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`k${index}`, 'x']))
  expect(faultOf({})).toBeUndefined()
  expect(faultOf({ domain: '' })).toBe('domain')
  expect(faultOf({ descriptors: [] })).toBe('descriptors')
  expect(faultOf({ descriptors: Array(65).fill(descriptor({ a: 'x' })) })).toBe('descriptors')
  expect(faultOf({ descriptors: [descriptor({ a: 'x' }), descriptor(crowded)] })).toBe('descriptors[1].entries')
})
