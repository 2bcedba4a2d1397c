import type { Caller } from '../identify/caller.ts'

/** Whose orders a caller sees. Two keys of one owner see the same ones. */
export const ownerOf = (caller: Caller) => {
  if (caller.kind === 'anonymous') return PUBLIC
  return caller.owner === undefined ? `key:${caller.keyId}` : `user:${caller.owner}`
}

/** Owns the demo orders, which anybody may read. */
export const PUBLIC = 'public'
