import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** Reads one address in its usual text form, no port; IPv4 written as IPv6 (`::ffff:192.0.2.1`) is IPv4. */
export const parseIpAddress = (text: string): IpAddress | undefined =>
  // ipaddr.js reads more than the standard does (`::ffff:010.0.0.1`, which two readers would take for two addresses).
  isIP(text) === 0 ? undefined : ipaddr.process(text)

/** The one text of an address that may be a bucket's. One subscriber holds a whole /64 of IPv6, so that is the address. */
export const addressKey = (address: IpAddress): string =>
  address instanceof ipaddr.IPv4
    ? address.toString()
    : `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toRFC5952String()}/64`

/** A block of addresses. */
export type Cidr = { readonly network: IpAddress; readonly prefixBits: number }

/** Reads `10.0.0.0/8`, `2001:db8::/32`, or one address. A block that holds every address is none. */
export const parseCidr = (text: string): Cidr | undefined => {
  const [addressText = '', prefixText, ...rest] = text.split('/')
  const network = parseIpAddress(addressText)
  if (network === undefined || rest.length > 0) return undefined
  const addressBits = network instanceof ipaddr.IPv4 ? 32 : 128
  if (prefixText === undefined) return { network, prefixBits: addressBits }
  // An IPv4 block written as IPv6 counts the 96 bits before it.
  const mappedBits = addressBits === 32 && addressText.includes(':') ? 96 : 0
  const prefixBits = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) - mappedBits : Number.NaN
  return prefixBits >= 1 && prefixBits <= addressBits ? { network, prefixBits } : undefined
}

export const contains = ({ network, prefixBits }: Cidr, address: IpAddress) =>
  network.kind() === address.kind() && address.match(network, prefixBits)
