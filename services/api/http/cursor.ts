import { createHmac, timingSafeEqual } from 'node:crypto'

/** At least one; the first signs, all verify. */
export type CursorSecrets = readonly [string, ...string[]]

export type CursorSigner = {
  /** An opaque text that stands for a position in one list with one set of filters. */
  readonly sign: (list: CursorList, position: readonly string[]) => string
  /** The position; `undefined` for a text that was not signed for this list. */
  readonly verify: (list: CursorList, cursor: string) => readonly string[] | undefined
}

/** Whatever tells a list from others: its resource, whose it is, its filters. */
export type CursorList = readonly (string | number | undefined)[]

const MAC_BYTES = 16

/** All replicas share the secrets. They are asked for at every use, so that they can change under way. */
export const createCursorSigner = (secrets: () => CursorSecrets): CursorSigner => ({
  sign: (list, position) => {
    const payload = Buffer.from(JSON.stringify(position))
    return Buffer.concat([mac(secrets()[0], list, payload), payload]).toString('base64url')
  },
  verify: (list, cursor) => {
    const bytes = Buffer.from(cursor, 'base64url')
    // The decoder skips what it does not know and ignores spare bits: many texts would be one cursor.
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined
    const signature = bytes.subarray(0, MAC_BYTES)
    const payload = bytes.subarray(MAC_BYTES)
    const isGenuine = secrets().some((secret) => timingSafeEqual(mac(secret, list, payload), signature))
    return isGenuine ? (JSON.parse(payload.toString()) as readonly string[]) : undefined
  },
})

const mac = (secret: string, list: CursorList, payload: Buffer) =>
  createHmac('sha256', secret)
    .update(JSON.stringify(list.map((part) => part ?? null)))
    // JSON has no such character: where the list ends cannot be shifted.
    .update('\n')
    .update(payload)
    .digest()
    .subarray(0, MAC_BYTES)
