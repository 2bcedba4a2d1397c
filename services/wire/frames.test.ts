import type { MessageTypeDefinition } from '@grpc/proto-loader'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyCheck } from '../contract/check.arbitrary.ts'
import type { Check } from '../contract/check.ts'
import { domainName } from '../contract/check.ts'
import { anyAnswer } from '../contract/decision.arbitrary.ts'
import { parseTraceContext } from '../contract/trace-context.ts'
import { encodeAnswer } from './answer.ts'
import { encodeCheck } from './check.ts'
import { decodeCheckFrame, encodeCheckFrames } from './check-frame.ts'
import {
  decodeDecisionFrame,
  encodeDecisionFrames,
  encodeDrainingFrame,
  type StreamDecision,
} from './decision-frame.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_CHECKS, rateLimitService, weirProtocol } from './protocol.ts'

// How any other gRPC client or server codes the same messages.
const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } =
  rateLimitService.ShouldAllowStream

const anyId = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2 ** 32 - 1 }), fc.constant(2 ** 32 - 1))

/** Without the prototypes that decoders give. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

const checksOf = (bytes: Buffer) => {
  const frame = decodeCheckFrame(bytes)
  if (!frame.ok) throw new Error('no frame')
  return {
    firstId: frame.firstId,
    checks: frame.checks.map((parsed) => {
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.fault))
      return parsed.check
    }),
  }
}

const onlyFrame = (frames: readonly Buffer[]) => {
  expect(frames).toHaveLength(1)
  return frames[0] ?? Buffer.alloc(0)
}

const withAttribute = (value: string): Check => ({
  domain: domainName('api'),
  attributes: new Map([['client', value]]),
  cost: 1,
})

describe('a frame of checks', () => {
  const anyChecks = fc.array(anyCheck, { minLength: 1, maxLength: 20 })

  test('survives encode, bytes, decode', () => {
    fc.assert(
      fc.property(anyId, anyChecks, (firstId, checks) => {
        expect(checksOf(onlyFrame(encodeCheckFrames(firstId, checks).frames))).toEqual({ firstId, checks })
      }),
    )
  })

  test('is to other implementations of protobuf what it is to ours', () => {
    fc.assert(
      fc.property(anyId, anyChecks, (firstId, checks) => {
        const message = { firstId, checks: checks.map(encodeCheck) }
        const theirs = requestSerialize(message)
        expect(checksOf(theirs)).toEqual({ firstId, checks })
        const ours = onlyFrame(encodeCheckFrames(firstId, checks).frames)
        expect(plain(requestDeserialize(ours))).toEqual(plain(requestDeserialize(theirs)))
      }),
    )
  })

  const trace = (digit: number, tracestate = '') =>
    parseTraceContext(`00-${String(digit).repeat(32)}-${String(digit).repeat(16)}-01`, tracestate) ?? expect.fail()

  const tracesOf = (bytes: Buffer) => {
    const frame = decodeCheckFrame(bytes)
    return frame.ok ? frame.traces : expect.fail()
  }

  test('tells of which trace a check is part; without any it has not a byte for it', () => {
    const checks = ['a', 'b', 'c'].map(withAttribute)
    const untraced = onlyFrame(encodeCheckFrames(7, checks).frames)
    expect(tracesOf(untraced)).toBeUndefined()
    expect(onlyFrame(encodeCheckFrames(7, checks, [undefined, undefined, undefined]).frames)).toEqual(untraced)
    const traced = onlyFrame(encodeCheckFrames(7, checks, [undefined, trace(1), trace(2, 'vendor=x')]).frames)
    expect(tracesOf(traced)).toEqual(
      new Map([
        [1, trace(1)],
        [2, trace(2, 'vendor=x')],
      ]),
    )
    expect(checksOf(traced)).toEqual({ firstId: 7, checks })
    expect(plain(requestDeserialize(traced).traced)).toEqual([
      { index: 1, traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01` },
      { index: 2, traceparent: `00-${'2'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'vendor=x' },
    ])
  })

  test('a check that is traced is the same as one that is not', () => {
    const check = withAttribute('asked again')
    const decoded = (frame: Buffer) => {
      const [one] = checksOf(frame).checks
      return one
    }
    const traced = onlyFrame(encodeCheckFrames(0, [check], [trace(1)]).frames)
    expect(decoded(traced)).toBe(decoded(onlyFrame(encodeCheckFrames(0, [check]).frames)))
  })

  test('that goes on in another one keeps its traces with their checks, within the limits', () => {
    const many = Array.from({ length: MAX_FRAME_CHECKS + 3 }, (_, index) =>
      withAttribute(`${index} ${'x'.repeat(900)}`),
    )
    const traces = many.map((_, index) => trace((index % 9) + 1, `n=${index}`))
    const { frames } = encodeCheckFrames(0, many, traces)
    const found = frames.flatMap((bytes) => {
      expect(bytes.length).toBeLessThanOrEqual(MAX_FRAME_BYTES)
      const ofChecks = tracesOf(bytes)
      return checksOf(bytes).checks.map((check, index) => [check, ofChecks?.get(index)])
    })
    expect(found).toEqual(many.map((check, index) => [check, traces[index]]))
  })

  test('with a trace that makes no sense, or of a check that is not there, is read without it', () => {
    const check = withAttribute('a')
    for (const traced of [
      { index: 0, traceparent: 'nonsense' },
      { index: 0, traceparent: '' },
      { index: 2 ** 32 - 1, traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01` },
    ]) {
      const theirs = requestSerialize({ firstId: 1, checks: [encodeCheck(check)], traced: [traced] })
      expect(checksOf(theirs)).toEqual({ firstId: 1, checks: [check] })
      expect(tracesOf(theirs)).toBeUndefined()
    }
  })

  test('with more traces than checks it may hold is read without the rest', () => {
    const check = withAttribute('a')
    const traceparent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`
    const nowhere = Array.from({ length: MAX_FRAME_CHECKS }, () => ({ index: 1, traceparent: 'nonsense' }))
    const traced = [...nowhere, { index: 0, traceparent }]
    expect(tracesOf(requestSerialize({ checks: [encodeCheck(check)], traced: traced.slice(1) }))).toEqual(
      new Map([[0, trace(1)]]),
    )
    expect(tracesOf(requestSerialize({ checks: [encodeCheck(check)], traced }))).toBeUndefined()
  })

  test('holds at most 1,000 checks and 1 MiB; more go into further frames, with ids that count on', () => {
    const many = Array.from({ length: 2 * MAX_FRAME_CHECKS + 1 }, (_, index) => withAttribute(String(index)))
    expect(
      encodeCheckFrames(2 ** 32 - MAX_FRAME_CHECKS, many).frames.map((bytes) => {
        const { firstId, checks } = checksOf(bytes)
        return [firstId, checks.length]
      }),
    ).toEqual([
      [2 ** 32 - MAX_FRAME_CHECKS, MAX_FRAME_CHECKS],
      [0, MAX_FRAME_CHECKS],
      [MAX_FRAME_CHECKS, 1],
    ])
    const large = Array.from({ length: 100 }, () => withAttribute('x'.repeat(60_000)))
    const { frames } = encodeCheckFrames(0, large)
    expect(Math.max(...frames.map((bytes) => bytes.length))).toBeLessThanOrEqual(MAX_FRAME_BYTES)
    expect(frames).toHaveLength(6)
  })

  test('a check that is over 64 KiB is in none; the others keep their ids', () => {
    const tooLarge = withAttribute('x'.repeat(64 * 1024))
    const encoded = encodeCheckFrames(7, [withAttribute('a'), tooLarge, withAttribute('b'), withAttribute('c')])
    expect(encoded.tooLarge).toEqual([8])
    expect(encoded.frames.map((bytes) => checksOf(bytes).firstId)).toEqual([7, 9])
    expect(encodeCheckFrames(7, [tooLarge])).toEqual({ frames: [], tooLarge: [7] })
  })

  test('a check at fault is a value beside the good ones', () => {
    const bytes = requestSerialize({ checks: [{ domain: '' }, { domain: 'api', attributes: { client: 'a' } }] })
    expect(decodeCheckFrame(bytes)).toMatchObject({
      ok: true,
      firstId: 0,
      checks: [{ ok: false, fault: { kind: 'invalid', field: 'domain' } }, { ok: true }],
    })
  })
})

describe('a frame of decisions', () => {
  const anyDecision: fc.Arbitrary<StreamDecision> = fc.oneof(
    fc.record({ id: anyId, ok: fc.constant(true as const), answer: anyAnswer }),
    fc.record({ id: anyId, ok: fc.constant(false as const), code: fc.nat({ max: 16 }), message: fc.string() }),
  )
  const anyDecisions = fc.array(anyDecision, { minLength: 1, maxLength: 20 })

  const encodeTheirs = (decisions: readonly StreamDecision[]) =>
    responseSerialize({
      decisions: decisions.map((one) =>
        one.ok
          ? { id: one.id, decision: encodeAnswer(one.answer) }
          : { id: one.id, error: { code: one.code, message: one.message } },
      ),
    })

  test('survives encode, bytes, decode', () => {
    fc.assert(
      fc.property(anyDecisions, (decisions) => {
        const frame = decodeDecisionFrame(onlyFrame(encodeDecisionFrames(decisions)))
        expect(frame).toEqual({ decisions: plain(decisions), draining: false })
      }),
      { numRuns: 1_000 },
    )
  })

  test('is to other implementations of protobuf what it is to ours', () => {
    fc.assert(
      fc.property(anyDecisions, (decisions) => {
        const theirs = encodeTheirs(decisions)
        expect(decodeDecisionFrame(theirs)).toEqual({ decisions: plain(decisions), draining: false })
        const ours = onlyFrame(encodeDecisionFrames(decisions))
        // Read and written again by the other implementation, which puts zeros on the wire.
        const again = responseSerialize(responseDeserialize(ours))
        expect(decodeDecisionFrame(again)).toEqual({ decisions: plain(decisions), draining: false })
      }),
      { numRuns: 1_000 },
    )
  })

  test('holds at most 1 MiB; more go into further frames', () => {
    const message = 'x'.repeat(60_000)
    const decisions = Array.from({ length: 100 }, (_, id) => ({ id, ok: false as const, code: 3, message }))
    const frames = encodeDecisionFrames(decisions)
    expect(Math.max(...frames.map((bytes) => bytes.length))).toBeLessThanOrEqual(MAX_FRAME_BYTES)
    expect(frames.flatMap((bytes) => decodeDecisionFrame(bytes)?.decisions.map(({ id }) => id))).toEqual(
      decisions.map(({ id }) => id),
    )
  })

  test('tells that the limiter drains', () => {
    expect(decodeDecisionFrame(encodeDrainingFrame())).toEqual({ decisions: [], draining: true })
    expect(responseDeserialize(encodeDrainingFrame())).toMatchObject({ draining: true })
  })

  test('an answer that this version does not know is an error of that one check', () => {
    const bytes = responseSerialize({
      decisions: [{ id: 4, decision: { verdict: 'ALLOW', basis: 99 as never } }, { id: 5 }],
    })
    expect(decodeDecisionFrame(bytes)).toMatchObject({
      decisions: [
        { id: 4, ok: false, code: 13 },
        { id: 5, ok: false, code: 13 },
      ],
    })
  })
})

test.each([decodeCheckFrame, decodeDecisionFrame])('%o never throws, whatever the bytes', (decode) => {
  const good = [
    ...encodeCheckFrames(0, [withAttribute('a'), withAttribute('b')]).frames,
    ...encodeDecisionFrames([
      { id: 1, ok: true, answer: { decision: { verdict: 'allow', basis: 'exempt' }, shadows: [] } },
    ]),
  ]
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.tuple(fc.constantFrom(...good), fc.nat(), fc.nat({ max: 255 })).map(([bytes, at, value]) => {
      const damaged = Buffer.from(bytes)
      damaged[at % damaged.length] = value
      return damaged
    }),
  )
  fc.assert(
    fc.property(anyBytes, (bytes) => void decode(bytes)),
    { numRuns: 2_000 },
  )
})

test('the messages have the names that others find them by', () => {
  const names = ['weir.v1.CheckFrame', 'weir.v1.DecisionFrame', 'weir.v1.StreamDecision', 'weir.v1.CheckError']
  for (const name of names) expect(weirProtocol[name] as MessageTypeDefinition<object, object>).toBeDefined()
})
