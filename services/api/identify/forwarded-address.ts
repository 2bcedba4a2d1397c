import { addressKey, type Cidr, contains, type IpAddress, parseIpAddress } from './ip-address.ts'

/** More proxies than any request passes; the rest of the header is not read. */
export const MAX_HOPS = 100

type Journey = {
  /** The other end of the connection, as its socket tells; absent once it has gone. */
  readonly peer: string | undefined
  /** `X-Forwarded-For`, all its lines joined. */
  readonly forwardedFor: string | undefined
  readonly trustedProxies: readonly Cidr[]
}

/**
 * The address that a request is charged to. Each of our proxies wrote on the right of `X-Forwarded-For` whom it was
 * called by; so it is read from the right, as long as it was one of our own that wrote. What stands left of the first
 * stranger was written by that stranger and is not looked at.
 */
export const clientAddress = ({ peer, forwardedFor = '', trustedProxies }: Journey): string => {
  const isTrusted = (address: IpAddress) => trustedProxies.some((cidr) => contains(cidr, address))
  let nearest = parseIpAddress(peer ?? '')
  if (nearest === undefined) return 'unknown'
  let end = forwardedFor.length
  for (let hop = 0; hop < MAX_HOPS && end >= 0 && isTrusted(nearest); hop += 1) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
    const part = forwardedFor.slice(comma + 1, end).trim()
    end = comma
    // A list may hold empty elements (RFC 9110, 5.6.1).
    if (part === '') continue
    const address = parseHop(part)
    if (address === undefined) break
    nearest = address
  }
  return addressKey(nearest)
}

/** An address, with the port that some proxies add. */
const parseHop = (part: string): IpAddress | undefined => {
  const groups = /^(?:\[(?<ipv6>[^\]]*:[^\]]*)\]|(?<ipv4>[\d.]+))(?::\d{1,5})?$/.exec(part)?.groups
  return parseIpAddress(groups?.['ipv6'] ?? groups?.['ipv4'] ?? part)
}
