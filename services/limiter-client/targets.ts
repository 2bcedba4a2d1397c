import type { Names } from '../seams/names.ts'
import type { Timers } from '../seams/timers.ts'

/** How often a name is looked up; grpc-js itself would do so only when a connection breaks. */
const LOOKUP_MS = 2_000

export type Targets = Disposable & {
  /** Settles when the first look-up has. */
  readonly ready: Promise<void>
}

type Options = {
  /** `host:port`, `dns:///name:port` or `unix:/path`. */
  readonly address: string
  readonly names: Names
  readonly timers: Timers
  /** Told at once, and whenever a name stands for other addresses than before: what grpc-js is to connect to. */
  readonly onTarget: (target: string) => void
}

/** Follows a name that stands for several limiters. Addresses that can no longer be looked up stay in use. */
export const followTargets = ({ address, names, timers, onTarget }: Options): Targets => {
  const { host, port } = /^dns:\/\/\/(?<host>.+):(?<port>\d+)$/.exec(address)?.groups ?? {}
  if (host === undefined || port === undefined) {
    onTarget(address)
    return { ready: Promise.resolve(), [Symbol.dispose]: () => {} }
  }
  let target: string | undefined
  let callOff = () => {}
  let closed = false
  const look = async () => {
    const found = targetOf(await names.resolve(host), port)
    if (closed) return
    if (found !== undefined && found !== target) {
      target = found
      onTarget(found)
    }
    callOff = timers.after(LOOKUP_MS, () => void look())
  }
  return {
    ready: look(),
    [Symbol.dispose]: () => {
      closed = true
      callOff()
    },
  }
}

/** One list of one family, as grpc-js takes it, always in the same order. */
const targetOf = (addresses: readonly string[], port: string) => {
  const ipv4 = addresses.filter((address) => !address.includes(':')).toSorted()
  if (ipv4.length > 0) return `ipv4:${ipv4.map((address) => `${address}:${port}`).join()}`
  if (addresses.length > 0)
    return `ipv6:${addresses
      .toSorted()
      .map((address) => `[${address}]:${port}`)
      .join()}`
  return undefined
}
