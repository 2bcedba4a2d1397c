/** One line for each call of an operator, also the refused ones; what was asked only of those that carried the token. */
export type AdminCallLog = (call: {
  readonly method: string
  readonly peer: string
  readonly result: string
  readonly asked?: object
  /** Of a Reset that was done: whose buckets are full now. */
  readonly policies?: readonly string[]
}) => void
