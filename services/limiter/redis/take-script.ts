/** `take.lua` from outside: what it is sent and what it answers, as packed bytes. The script's head describes both. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { Rule } from '../../bucket/rule.ts'
import { oncePer } from '../core/once-per.ts'
import { type AskedBucket, requestKey } from '../core/store.ts'
import type { Told } from '../witness/witness.ts'
import type { Lineage, Testimony } from '../witness/witnesses.ts'
import type { LostFate } from './not-run.ts'

export const takeScript = readFileSync(new URL('take.lua', import.meta.url), 'utf8')
export const takeScriptSha1 = createHash('sha1').update(takeScript).digest('hex')

type Operation = {
  readonly kind: 'take' | 'reset' | 'debit'
  /** The key of the group that all its buckets are in. */
  readonly key: string
  readonly cost: number
  /** Of a debit: nano-tokens beside the cost. */
  readonly extraNano?: number
  /** How many equal takes this one stands for. */
  readonly times: number
  readonly buckets: readonly AskedBucket[]
  /** Of a take that stands for one, and of a debit: a grant under it is charged once. */
  readonly requestId?: string | undefined
  /** For each bucket what this limiter has seen of it, where the store may have forgotten that. */
  readonly testimonies?: readonly (Testimony | undefined)[] | undefined
}
export type ScriptOperation = Operation

/** A bucket as it stood before the operation, refilled to the moment of it. */
export type StoredBucket = Told

export type OperationResult = {
  readonly granted: number
  /** Its id was remembered: granted, and nothing charged. */
  readonly replayed: boolean
  readonly before: readonly StoredBucket[]
}
export type ScriptReply = {
  readonly droppedBuckets: number
  /** The connection over which it came; undefined: over several. */
  readonly lineage?: Lineage | undefined
  /** Of each operation, or of the first ones: the others have not run. `undefined`: nobody knows whether that one ran. */
  readonly results: readonly (OperationResult | undefined)[]
  /** Of those without a result, where their calls fared differently. */
  readonly fates?: readonly (LostFate | undefined)[]
}

const HEAD_BYTES = 13
const REQUEST_NAME_BYTES = 23
const ASKED_BYTES = 24
const KINDS = { take: 0, reset: 1, debit: 2 } as const satisfies Record<Operation['kind'], number>
const STORED_BYTES = 30
const TESTIMONY_BYTES = 42

export type ScriptCall = { readonly keys: readonly string[]; readonly batch: Buffer }

export const encodeCall = (operations: readonly Operation[]): ScriptCall => {
  const keyIndexes = new Map<string, number>()
  for (const { key } of operations) if (!keyIndexes.has(key)) keyIndexes.set(key, keyIndexes.size + 1)
  const batch = Buffer.allocUnsafe(operations.reduce((sum, operation) => sum + encodedBytes(operation), 0))
  let offset = 0
  for (const operation of operations)
    offset = writeOperation(batch, offset, operation, keyIndexes.get(operation.key) ?? 0)
  return { keys: [...keyIndexes.keys()], batch: batch.subarray(0, offset) }
}

const encodedBytes = ({ buckets, requestId, testimonies = [] }: Operation) =>
  buckets.reduce(
    (sum, { key }) => sum + ASKED_BYTES + Buffer.byteLength(key),
    HEAD_BYTES + (requestId === undefined ? 0 : REQUEST_NAME_BYTES) + testimonies.length * TESTIMONY_BYTES,
  )

/** Short, and not to be found for another request. */
export const requestNameOf = (requestId: string, cost: number, buckets: readonly AskedBucket[]) =>
  `\u0000${createHash('sha256')
    .update(requestKey(requestId, cost, buckets))
    .digest('base64url')}`.slice(0, REQUEST_NAME_BYTES)

const writeOperation = (
  batch: Buffer,
  start: number,
  { kind, cost, times, extraNano = 0, buckets, requestId, testimonies }: Operation,
  keyIndex: number,
) => {
  let offset = batch.writeUInt8(KINDS[kind], start)
  offset = batch.writeUInt16BE(keyIndex, offset)
  offset = batch.writeUInt32BE(cost, offset)
  offset = batch.writeUInt32BE(kind === 'debit' ? extraNano : times, offset)
  offset = writeName(batch, offset, requestId === undefined ? '' : requestNameOf(requestId, cost, buckets))
  offset = batch.writeUInt8(buckets.length, offset)
  buckets.forEach((asked, index) => {
    offset = writeAsked(batch, offset, asked, testimonies?.[index])
  })
  return offset
}

const writeAsked = (
  batch: Buffer,
  start: number,
  { enforced, rule, key }: AskedBucket,
  testimony: Testimony | undefined,
) => {
  let offset = batch.writeUInt8((enforced ? 1 : 0) + (testimony === undefined ? 0 : 2), start)
  offset = batch.writeUInt32BE(rule.capacityTokens, offset)
  offset = batch.writeDoubleBE(rule.refillTokens, offset)
  offset = batch.writeDoubleBE(rule.periodS, offset)
  offset = batch.writeUInt16BE(ruleHash(rule), offset)
  offset = writeName(batch, offset, key)
  return testimony === undefined ? offset : writeTestimony(batch, offset, testimony)
}

const writeTestimony = (
  batch: Buffer,
  start: number,
  { bucket, epoch, grantedTokens, leastElapsedUs, mostElapsedUs }: Testimony,
) => {
  let offset = batch.writeDoubleBE(bucket.deficitNano, start)
  offset = batch.writeDoubleBE(bucket.atUs, offset)
  offset = batch.writeUInt16BE(epoch, offset)
  offset = batch.writeDoubleBE(grantedTokens, offset)
  offset = batch.writeDoubleBE(leastElapsedUs, offset)
  return batch.writeDoubleBE(mostElapsedUs, offset)
}

const writeName = (batch: Buffer, offset: number, name: string) => {
  const nameBytes = batch.write(name, offset + 1)
  return batch.writeUInt8(nameBytes, offset) + nameBytes
}

export const decodeReply = (reply: Buffer, operations: readonly Operation[]): Omit<ScriptReply, 'lineage'> => {
  let offset = 4
  const results: OperationResult[] = []
  for (const { buckets } of operations) {
    if (offset >= reply.length) break
    const granted = reply.readUInt32BE(offset)
    const replayed = reply.readUInt8(offset + 4) === 1
    offset += 5
    const before = buckets.map(() => {
      const stored = readStored(reply, offset)
      offset += STORED_BYTES
      return stored
    })
    results.push({ granted, replayed, before })
  }
  return { droppedBuckets: reply.readUInt32BE(0), results }
}

const readStored = (reply: Buffer, offset: number): StoredBucket => ({
  bucket: { deficitNano: reply.readDoubleBE(offset), atUs: reply.readDoubleBE(offset + 8) },
  epoch: reply.readUInt32BE(offset + 16),
  grantedTokens: reply.readDoubleBE(offset + 20),
  ruleHash: reply.readUInt16BE(offset + 28),
})

/** How a group is written; both are read. 1 is the only one that a limiter before version 0.2 reads. */
export type StateFormat = 1 | 2

/** ARGV[1]; without a time the script goes by the server's own clock. */
export const encodeHead = (stateFormat: StateFormat, nowUs: number | undefined) => {
  const bytes = Buffer.allocUnsafe(9)
  bytes.writeUInt8(stateFormat, bytes.writeDoubleBE(nowUs ?? 0))
  return bytes
}

/** 16 bits that tell whether two writers of a bucket went by the same numbers. */
export const ruleHash = oncePer(
  ({ capacityTokens, refillTokens, periodS }: Rule) => crc32(`${capacityTokens} ${refillTokens} ${periodS}`) & 0xffff,
)
