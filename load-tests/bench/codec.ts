// What does it cost to put a check and a decision on the wire, beside protobufjs?   node load-tests/bench/codec.ts
// Frames of 64, four attributes a check; prints µs of CPU for each. Ten seconds.
import { domainName } from '../../services/contract/check.ts'
import { policyName } from '../../services/contract/decision.ts'
import { encodeAnswer } from '../../services/wire/answer.ts'
import { decodeCheck, encodeCheck } from '../../services/wire/check.ts'
import { decodeCheckFrame, encodeCheckFrames } from '../../services/wire/check-frame.ts'
import { decodeDecisionFrame, encodeDecisionFrames } from '../../services/wire/decision-frame.ts'
import { rateLimitService } from '../../services/wire/protocol.ts'

const FRAME = 64
const MEASURE_MS = 500
const ROUNDS = 3

const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } =
  rateLimitService.ShouldAllowStream

const checks = Array.from({ length: FRAME }, (_, index) => ({
  domain: domainName('api'),
  attributes: new Map([
    ['client', `user:${1_000 + index}`],
    ['plan', 'free'],
    ['route', 'GET /v1/orders/{id}'],
    ['method', 'GET'],
  ]),
  cost: 1,
}))
const quota = { limit: 60, remaining: 42, resetAfterMs: 3_600, refillTokens: 5, refillPeriodMs: 1_000 }
const answer = {
  decision: { verdict: 'allow', basis: 'bucket', policy: policyName('per-client'), quota },
  shadows: [],
} as const
const decisions = checks.map((_, id) => ({ id, ok: true as const, answer }))

const checkFrame = encodeCheckFrames(7, checks).frames[0] ?? Buffer.alloc(0)
const decisionFrame = encodeDecisionFrames(decisions)[0] ?? Buffer.alloc(0)

const cases = {
  'encode a check': [
    () => encodeCheckFrames(7, checks),
    () => requestSerialize({ firstId: 7, checks: checks.map(encodeCheck) }),
  ],
  'decode a check': [() => decodeCheckFrame(checkFrame), () => requestDeserialize(checkFrame).checks.map(decodeCheck)],
  'encode a decision': [
    () => encodeDecisionFrames(decisions),
    () => responseSerialize({ decisions: decisions.map(({ id }) => ({ id, decision: encodeAnswer(answer) })) }),
  ],
  'decode a decision': [() => decodeDecisionFrame(decisionFrame), () => responseDeserialize(decisionFrame)],
} as const

/** µs of CPU for each of a frame. */
const costUs = (code: () => unknown) => {
  const before = process.cpuUsage()
  let frames = 0
  for (const end = performance.now() + MEASURE_MS; performance.now() < end; frames += 1) code()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (frames * FRAME)
}

const best = (code: () => unknown) => Math.min(...Array.from({ length: ROUNDS }, () => costUs(code)))

process.stdout.write(
  `${checkFrame.length / FRAME} bytes a check, ${decisionFrame.length / FRAME} a decision; µs each: ours, protobufjs\n`,
)
for (const [name, [ours, theirs]] of Object.entries(cases))
  process.stdout.write(`${name.padEnd(18)} ${best(ours).toFixed(2)}  ${best(theirs).toFixed(2)}\n`)
