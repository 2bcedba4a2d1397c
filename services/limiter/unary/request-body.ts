/** How gRPC begins a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5

/** What is known of a call's body: more is to come, it is one whole message, or it is none that is accepted. */
export type Body =
  | { readonly kind: 'partial' | 'too_large' | 'compressed' | 'second_message' }
  | { readonly kind: 'message'; readonly message: Buffer }

export type RequestBody = {
  /** Takes what has arrived. After anything but `partial` nothing more is taken. */
  readonly add: (chunk: Buffer) => Body
  /** Memory that the part of a message takes that has arrived; at most twice as much as has. */
  readonly heldBytes: () => number
  /** Nothing more is taken, and nothing held. */
  readonly release: () => void
}

/** Puts a call's one message together. What is too long is seen by its prefix, before it is held. */
export const createRequestBody = (maxBytes: number): RequestBody => {
  let memory: Buffer = EMPTY
  let used = 0

  // Chunks are copied: one byte can hold on to all that was read from the connection with it.
  const append = (chunk: Buffer) => {
    if (used + chunk.length > memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, memory.length * 2, used + chunk.length))
      memory.copy(larger, 0, 0, used)
      memory = larger
    }
    used += chunk.copy(memory, used)
    return memory.subarray(0, used)
  }

  return {
    add: (chunk) => {
      // Nearly always a message comes in one piece.
      const body = read(used === 0 ? chunk : append(chunk), maxBytes)
      if (body.kind === 'partial' && used === 0) append(chunk)
      return body
    },
    heldBytes: () => memory.length,
    release: () => {
      memory = EMPTY
    },
  }
}

const EMPTY: Buffer = Buffer.alloc(0)
const FIRST_BYTES = 1024

const read = (held: Buffer, maxBytes: number): Body => {
  if (held.length < PREFIX_BYTES) return PARTIAL
  const length = held.readUInt32BE(1)
  if (length > maxBytes) return { kind: 'too_large' }
  // Whoever compresses says so in a header, and is served elsewhere.
  if (held[0] !== 0) return { kind: 'compressed' }
  if (held.length < PREFIX_BYTES + length) return PARTIAL
  if (held.length > PREFIX_BYTES + length) return { kind: 'second_message' }
  return { kind: 'message', message: held.subarray(PREFIX_BYTES) }
}

const PARTIAL: Body = { kind: 'partial' }

/** The message as gRPC sends it. */
export const framed = (message: Buffer) => {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, PREFIX_BYTES)
  return frame
}
