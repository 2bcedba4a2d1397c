import type { Names } from '../../seams/names.ts'
import type { Timers } from '../../seams/timers.ts'

/** How often a name is looked up: an answer may be as old as its TTL, and a limiter is used within two seconds after that. */
const LOOKUP_MS = 1_500

export type Following = Disposable & {
  /** Settles when the first look-up has. */
  readonly ready: Promise<void>
}

type Options = {
  readonly name: string
  readonly names: Names
  readonly timers: Timers
  /** Told whenever the name stands for other addresses than before. */
  readonly onAddresses: (addresses: readonly string[]) => void
}

/** Follows a name that stands for several limiters. Addresses that can no longer be looked up stay in use. */
export const followAddresses = ({ name, names, timers, onAddresses }: Options): Following => {
  let known = ''
  let callOff = () => {}
  let isClosed = false
  const look = async () => {
    const found = ofOneFamily(await names.resolve(name))
    if (isClosed) return
    if (found.length > 0 && found.join() !== known) {
      known = found.join()
      onAddresses(found)
    }
    callOff = timers.after(LOOKUP_MS, () => void look())
  }
  return {
    ready: look(),
    [Symbol.dispose]: () => {
      isClosed = true
      callOff()
    },
  }
}

/** A limiter that has an address of each family is still one limiter. */
const ofOneFamily = (addresses: readonly string[]) => {
  const ipv4 = addresses.filter((address) => !address.includes(':'))
  return [...new Set(ipv4.length > 0 ? ipv4 : addresses)].toSorted()
}
