/** 32 bits of a text: FNV-1a over its UTF-16 units. Not for secrets. */
export const hashText = (text: string) => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return mix(hash, 0)
}

/** 32 bits of two hashes, each bit of which depends on all of theirs: the finalizer of MurmurHash3. */
export const mix = (one: number, other: number) => {
  let hash = one ^ other
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
