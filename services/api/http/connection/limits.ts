/** How much of a client's time and bytes the server takes. Each is refused with an answer, never with a hang. */
export const httpLimits = {
  /** Request line and header fields together. */
  headerBytes: 16 * 1024,
  urlLength: 8 * 1024,
  /** An order of the most and longest items, every character escaped, has 96 KB. */
  bodyBytes: 128 * 1024,
  /** Values within each other; those of an order are three. */
  bodyDepth: 32,
  /** Chunks, or packets of them, that a body may come in. */
  bodyPieces: 2_048,
  /** From a connection's or a request's first byte to the end of its header. */
  headersTimeoutMs: 5_000,
  /** … to the end of its body. */
  requestTimeoutMs: 10_000,
  /** How often the two are looked at. */
  timeoutCheckMs: 500,
  /** A connection on which nothing moves while a request is under way, such as a client that does not read its answer. */
  stalledMs: 30_000,
  /** Longer than load balancers keep theirs, so that it is they who close an idle connection. */
  keepAliveTimeoutMs: 72_000,
  /** Then the client is asked to connect anew, and may meet another replica. */
  requestsPerConnection: 10_000,
  connections: 8_192,
  /** From here on a refusal closes its connection. */
  nearlyFullPart: 0.9,
  /** Of answers that have been sent and not been read, of all clients together. */
  unreadAnswerBytes: 64 * 1024 * 1024,
  /** What requests of all clients hold that did not wait for the answer to the one before; the connection of one more is closed. */
  waitingBytes: 16 * 1024 * 1024,
  /** After a refusal that closes the connection: time for the client to read it. */
  lingerMs: 1_000,
  /** … and to write the rest of what it sends, if it reads nothing before. */
  lingerBytes: 8 * 1024 * 1024,
  /** … of all clients together: at once, and in the long run. Beyond it a piece of each is read. */
  lingerBytesInAll: 16 * 1024 * 1024,
  lingerBytesPerS: 1024 * 1024,
} as const
