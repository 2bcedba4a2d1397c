/** Before each message on a gRPC stream: one byte that says whether it is compressed, four of its length. */
const HEAD_BYTES = 5

export const withHead = (message: Buffer): Buffer => {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  message.copy(framed, HEAD_BYTES)
  return framed
}

type Options = {
  /** A longer message is a fault, told before it has arrived. */
  readonly maxBytes: number
  readonly onMessage: (message: Buffer) => void
  readonly onFault: (fault: string) => void
}

/** Cuts what arrives, in pieces of any size, into messages. After a fault it says nothing more. */
export const createMessageReader = ({ maxBytes, onMessage, onFault }: Options) => {
  let pieces: Buffer[] = []
  let heldBytes = 0
  let wantedBytes = HEAD_BYTES
  let isFaulty = false

  const fail = (fault: string) => {
    isFaulty = true
    pieces = []
    onFault(fault)
  }

  /** Everything held, from which whole messages are taken; the rest is held on. */
  const cut = () => {
    let bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
    pieces = []
    wantedBytes = HEAD_BYTES
    while (bytes !== undefined && bytes.length >= HEAD_BYTES && !isFaulty) {
      if (bytes[0] !== 0) return fail('a compressed message, which was not asked for')
      const length = bytes.readUInt32BE(1)
      if (length > maxBytes) return fail(`a message of ${length} bytes: at most ${maxBytes} are taken`)
      wantedBytes = HEAD_BYTES + length
      if (bytes.length < wantedBytes) break
      onMessage(bytes.subarray(HEAD_BYTES, wantedBytes))
      bytes = bytes.subarray(wantedBytes)
      wantedBytes = HEAD_BYTES
    }
    heldBytes = bytes?.length ?? 0
    if (bytes !== undefined && heldBytes > 0) pieces.push(bytes)
  }

  return (piece: Buffer) => {
    if (isFaulty) return
    pieces.push(piece)
    heldBytes += piece.length
    if (heldBytes >= wantedBytes) cut()
  }
}
