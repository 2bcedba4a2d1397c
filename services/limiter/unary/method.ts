/** Why a call has no response: a status of gRPC, and what is wrong. */
export type Refusal = { readonly code: number; readonly details: string }

export type Reply = { readonly ok: true; readonly message: Buffer } | { readonly ok: false; readonly refusal: Refusal }

/** What came with a request, by names in lower case. */
export type RequestHeaders = Readonly<Record<string, unknown>>

/** One request, one response, both as bytes. */
export type UnaryMethod = {
  /** `/package.Service/Method` */
  readonly path: string
  /** A longer request is refused, and not read to its end. */
  readonly maxBytes: number
  /** What to say of one that is. */
  readonly tooLarge: Refusal
  /** Never rejects. */
  readonly answer: (request: Buffer, headers: RequestHeaders) => Promise<Reply>
}
