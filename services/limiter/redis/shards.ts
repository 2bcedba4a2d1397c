import { createHash, createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { BucketKey, GroupKey } from '../core/store.ts'

const SLOTS = 16_384
/** A longer key is replaced by its hash. */
const MAX_KEY_BYTES = 256
/** The script counts a bucket's name in one byte. */
const MAX_NAME_BYTES = 255

/** `lane`: the shard's among all lanes. One call of the script is under way in each. */
export type Placed = { readonly shard: number; readonly lane: number; readonly key: string }

/** Says where in Redis a group of buckets lives, and with which others it is asked about. */
export type Shards = {
  readonly count: number
  readonly lanes: number
  readonly place: (group: GroupKey) => Placed
}

/**
 * Shard i of n is a hash tag in slot i·16384/n: the shards lie evenly over the slots, and so over any number of primaries
 * that divide the slots evenly. (The tags "0" to "63" would not: twice the mean on the fullest of 16.)
 * With a secret nobody who does not know it can tell which subjects share a shard, and so aim at one.
 * A script's keys must lie in one slot of a cluster, so there each shard is a lane; one server runs them all in a few, which makes each call
 * carry more takes.
 */
export const createShards = (count: number, mostLanes = count, secret?: string): Shards => {
  const hash = secret === undefined ? crc32 : keyedHash(secret)
  const lanes = Math.min(count, mostLanes)
  const tags = tagsOf(count)
  return {
    count,
    lanes,
    place: (group) => {
      const shard = hash(group) % count
      return { shard, lane: shard % lanes, key: boundedKey(`weir:{${tags[shard]}}:`, group) }
    },
  }
}

const keyedHash = (secret: string) => (group: GroupKey) =>
  createHmac('sha256', secret).update(group).digest().readUInt32BE()

/** Tells secrets apart, and tells nothing of them. */
export const secretFingerprint = (secret: string) =>
  createHmac('sha256', secret).update('weir shards').digest('hex').slice(0, 16)

const boundedKey = (prefix: string, group: GroupKey) =>
  Buffer.byteLength(group) + prefix.length <= MAX_KEY_BYTES ? prefix + group : `${prefix}h:${digest(group)}`

/** The bucket's name within its group, in as many bytes as the script takes. */
export const boundedName = (key: BucketKey) =>
  Buffer.byteLength(key) <= MAX_NAME_BYTES ? key : (`h:${digest(key)}` as BucketKey)

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

const tagsOf = (count: number) => {
  const wanted = new Map(Array.from({ length: count }, (_, index) => [Math.floor((index * SLOTS) / count), index]))
  const tags: string[] = Array.from({ length: count }, () => '')
  for (let candidate = 0; wanted.size > 0; candidate += 1) {
    const tag = candidate.toString(36)
    const slot = slotOf(tag)
    const index = wanted.get(slot)
    if (index === undefined) continue
    tags[index] = tag
    wanted.delete(slot)
  }
  return tags
}

/** The slot of a hash tag: CRC-16/XMODEM of its bytes, as the Redis Cluster specification defines it. */
export const slotOf = (tag: string) => {
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
  }
  return (crc & 0xffff) % SLOTS
}
