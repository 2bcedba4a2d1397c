import { type Answer, type Decision, policyName, type Quota, type ShadowVerdict } from '../contract/decision.ts'
import { BYTES, type MessageReader, NUMBER, tagOf } from './message-reader.ts'
import { type MessageWriter, textBytes, textFieldBytes, varintBytes } from './message-writer.ts'

const VERDICT = tagOf(1, NUMBER)
const BASIS = tagOf(2, NUMBER)
const POLICY = tagOf(3, BYTES)
const QUOTA = tagOf(4, BYTES)
const RETRY_AFTER_MS = tagOf(5, NUMBER)
const SHADOW = tagOf(6, BYTES)
const REPLAY = tagOf(7, NUMBER)
const LIMIT = tagOf(1, NUMBER)
const REMAINING = tagOf(2, NUMBER)
const RESET_AFTER_MS = tagOf(3, NUMBER)
const REFILL_TOKENS = tagOf(4, NUMBER)
const REFILL_PERIOD_MS = tagOf(5, NUMBER)
const SHADOW_POLICY = tagOf(1, BYTES)
const SHADOW_VERDICT = tagOf(2, NUMBER)

const ALLOW = 1
const DENY = 2
const BUCKET = 1
const SHARE = 2
const NO_POLICY = 3
const EXEMPT = 4
const STORE_UNAVAILABLE = 5
const NEVER_SATISFIABLE = 6
const BASES = {
  bucket: BUCKET,
  share: SHARE,
  no_policy: NO_POLICY,
  exempt: EXEMPT,
  store_unavailable: STORE_UNAVAILABLE,
  never_satisfiable: NEVER_SATISFIABLE,
} as const satisfies Record<Decision['basis'], number>

/** Zeros are written too, so that no client mistakes one for an absent count. */
const fieldBytes = (value: number) => 1 + varintBytes(value)
const policyFieldBytes = (policy: string) => (policy === '' ? 0 : textFieldBytes(textBytes(policy)))

const quotaBytes = ({ limit, remaining, resetAfterMs, refillTokens, refillPeriodMs }: Quota) =>
  fieldBytes(limit) +
  fieldBytes(remaining) +
  fieldBytes(resetAfterMs) +
  fieldBytes(refillTokens) +
  fieldBytes(refillPeriodMs)

const shadowBytes = ({ policy }: ShadowVerdict) => policyFieldBytes(policy) + 2

/** How many bytes the answer takes as a ShouldAllowResponse. */
export const answerBytes = ({ decision, shadows, replayed }: Answer) => {
  let bytes = 4 + (replayed === true ? 2 : 0)
  if ('policy' in decision) bytes += policyFieldBytes(decision.policy)
  if ('quota' in decision) bytes += textFieldBytes(quotaBytes(decision.quota))
  if ('retryAfterMs' in decision) bytes += 1 + varintBytes(decision.retryAfterMs)
  for (const shadow of shadows) bytes += textFieldBytes(shadowBytes(shadow))
  return bytes
}

/** Writes the answer as a ShouldAllowResponse, for which `answerBytes` have to be reserved. */
export const writeAnswer = (writer: MessageWriter, { decision, shadows, replayed }: Answer) => {
  writer.number(VERDICT, decision.verdict === 'allow' ? ALLOW : DENY)
  writer.number(BASIS, BASES[decision.basis])
  if ('policy' in decision) writePolicy(writer, POLICY, decision.policy)
  if ('quota' in decision) writeQuota(writer, decision.quota)
  if ('retryAfterMs' in decision) writer.number(RETRY_AFTER_MS, decision.retryAfterMs)
  for (const shadow of shadows) {
    writer.message(SHADOW, shadowBytes(shadow))
    writePolicy(writer, SHADOW_POLICY, shadow.policy)
    writer.number(SHADOW_VERDICT, shadow.verdict === 'allow' ? ALLOW : DENY)
  }
  if (replayed === true) writer.number(REPLAY, 1)
}

const writePolicy = (writer: MessageWriter, tag: number, policy: string) => {
  if (policy !== '') writer.text(tag, policy, textBytes(policy))
}

const writeQuota = (writer: MessageWriter, quota: Quota) => {
  writer.message(QUOTA, quotaBytes(quota))
  writer.number(LIMIT, quota.limit)
  writer.number(REMAINING, quota.remaining)
  writer.number(RESET_AFTER_MS, quota.resetAfterMs)
  writer.number(REFILL_TOKENS, quota.refillTokens)
  writer.number(REFILL_PERIOD_MS, quota.refillPeriodMs)
}

/** Reads a ShouldAllowResponse that ends there; `undefined` when it makes no sense to this version. */
export const readAnswer = (reader: MessageReader, end: number): Answer | undefined => {
  const read: Read = { verdict: 0, basis: 0, policy: '', quota: undefined, retryAfterMs: 0 }
  const shadows: ShadowVerdict[] = []
  let replayed = false
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === VERDICT) read.verdict = reader.varint(end)
    else if (tag === BASIS) read.basis = reader.varint(end)
    else if (tag === POLICY) read.policy = reader.text(reader.end(end))
    else if (tag === QUOTA) read.quota = readQuota(reader, reader.end(end))
    else if (tag === RETRY_AFTER_MS) read.retryAfterMs = reader.varint(end)
    else if (tag === SHADOW) shadows.push(readShadow(reader, reader.end(end)))
    else if (tag === REPLAY) replayed = reader.varint(end) !== 0
    else reader.skip(tag, end)
  }
  const decision = decisionOf(read)
  if (decision === undefined) return undefined
  return replayed ? { decision, shadows, replayed } : { decision, shadows }
}

type Read = { verdict: number; basis: number; policy: string; quota: Quota | undefined; retryAfterMs: number }

const decisionOf = (read: Read): Decision | undefined => {
  const verdict = read.verdict === ALLOW ? 'allow' : read.verdict === DENY ? 'deny' : undefined
  if (verdict === undefined) return undefined
  const policy = policyName(read.policy)
  switch (read.basis) {
    case BUCKET:
    case SHARE: {
      const { quota, retryAfterMs } = read
      if (quota === undefined) return undefined
      const basis = read.basis === BUCKET ? 'bucket' : 'share'
      return verdict === 'allow' ? { verdict, basis, policy, quota } : { verdict, basis, policy, quota, retryAfterMs }
    }
    case NO_POLICY:
      return verdict === 'allow' ? { verdict, basis: 'no_policy' } : undefined
    case EXEMPT:
      return verdict === 'allow' ? { verdict, basis: 'exempt' } : undefined
    case STORE_UNAVAILABLE:
      return { verdict, basis: 'store_unavailable', policy }
    case NEVER_SATISFIABLE:
      return verdict === 'deny' ? { verdict, basis: 'never_satisfiable', policy } : undefined
  }
  // Unspecified, or a basis that a newer limiter knows.
  return undefined
}

const readQuota = (reader: MessageReader, end: number): Quota => {
  let limit = 0
  let remaining = 0
  let resetAfterMs = 0
  let refillTokens = 0
  let refillPeriodMs = 0
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === LIMIT) limit = reader.varint(end)
    else if (tag === REMAINING) remaining = reader.varint(end)
    else if (tag === RESET_AFTER_MS) resetAfterMs = reader.varint(end)
    else if (tag === REFILL_TOKENS) refillTokens = reader.varint(end)
    else if (tag === REFILL_PERIOD_MS) refillPeriodMs = reader.varint(end)
    else reader.skip(tag, end)
  }
  return { limit, remaining, resetAfterMs, refillTokens, refillPeriodMs }
}

const readShadow = (reader: MessageReader, end: number): ShadowVerdict => {
  let policy = ''
  let verdict = 0
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === SHADOW_POLICY) policy = reader.text(reader.end(end))
    else if (tag === SHADOW_VERDICT) verdict = reader.varint(end)
    else reader.skip(tag, end)
  }
  return { policy: policyName(policy), verdict: verdict === DENY ? 'deny' : 'allow' }
}
