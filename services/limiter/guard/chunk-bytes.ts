/** What a piece of a request takes beside its bytes while it is kept for the rest: pieces may be of one byte. */
export const CHUNK_BYTES = 256
