import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rateLimitServiceV3 } from './envoy-protocol.ts'
import { decodeRateLimitRequest } from './rate-limit-request.ts'
import { encodeRateLimitResponse } from './rate-limit-response.ts'

const { requestSerialize, responseDeserialize } = rateLimitServiceV3.ShouldRateLimit

const anyText = fc.string({ unit: 'grapheme', maxLength: 40 })
const anyUint32 = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 0xffff_ffff }))
const anyUnit = fc.constantFrom('UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK')

const anyRequest = fc.record({
  domain: anyText,
  hitsAddend: anyUint32,
  descriptors: fc.array(
    fc.record(
      {
        entries: fc.array(fc.record({ key: anyText, value: anyText }), { maxLength: 5 }),
        limit: fc.record({ requestsPerUnit: anyUint32, unit: anyUnit }),
        hitsAddend: fc.record({ value: fc.maxSafeNat() }),
      },
      { requiredKeys: ['entries'] },
    ),
    { maxLength: 5 },
  ),
})

test('requests of other implementations of protobuf are read as they were meant', () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      expect(decodeRateLimitRequest(requestSerialize(request))).toEqual(request)
    }),
    { numRuns: 1_000 },
  )
})

test('whatever the bytes, they are a request or none; nothing is thrown', () => {
  const mutated = fc.tuple(anyRequest, fc.nat(), fc.nat({ max: 255 })).map(([request, at, byte]) => {
    const bytes = requestSerialize(request)
    if (bytes.length > 0) bytes[at % bytes.length] = byte
    return bytes
  })
  const random = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.oneof(mutated, random), (bytes) => {
      const request = decodeRateLimitRequest(bytes)
      seen.add(typeof request)
      for (const { entries } of request?.descriptors ?? [])
        for (const { key, value } of entries) expect([typeof key, typeof value]).toEqual(['string', 'string'])
    }),
    { numRuns: 2_000 },
  )
  expect([...seen].toSorted()).toEqual(['object', 'undefined'])
})

const anyCode = fc.constantFrom('OK' as const, 'OVER_LIMIT' as const)
const anyLimitUnit = fc.constantFrom('SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK')
const anyResponse = fc.record(
  {
    overallCode: anyCode,
    statuses: fc.array(
      fc.record(
        {
          code: anyCode,
          currentLimit: fc.record({ name: anyText, requestsPerUnit: anyUint32, unit: anyLimitUnit }),
          limitRemaining: anyUint32,
          durationUntilReset: fc.record({ seconds: fc.maxSafeNat() }),
        },
        { requiredKeys: ['code'] },
      ),
      { maxLength: 5 },
    ),
    responseHeadersToAdd: fc.array(fc.record({ key: anyText, value: anyText }), { maxLength: 5 }),
    rawBody: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  },
  { requiredKeys: ['overallCode', 'statuses'] },
)

test('other implementations of protobuf read the responses as they were meant', () => {
  fc.assert(
    fc.property(anyResponse, (response) => {
      const { rawBody = Buffer.alloc(0), ...read } = responseDeserialize(encodeRateLimitResponse(response))
      const { rawBody: body = Buffer.alloc(0), ...meant } = { responseHeadersToAdd: [], ...response }
      expect(JSON.parse(JSON.stringify(read))).toEqual(meant)
      expect(rawBody.equals(body)).toBe(true)
    }),
    { numRuns: 1_000 },
  )
})

test('a response as long as they come is written whole', () => {
  const name = 'ü'.repeat(300)
  const statuses = Array.from({ length: 64 }, () => ({
    code: 'OK' as const,
    currentLimit: { name, requestsPerUnit: 1, unit: 'WEEK' as const },
  }))
  const responseHeadersToAdd = [{ key: 'x', value: name.repeat(50) }]
  const response = encodeRateLimitResponse({ overallCode: 'OK', statuses, responseHeadersToAdd })
  expect(responseDeserialize(response)).toMatchObject({ statuses, responseHeadersToAdd })
})
