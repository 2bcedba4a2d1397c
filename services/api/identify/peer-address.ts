import { addressKey, type Cidr, contains, parseIpAddress } from './ip-address.ts'

/** The address that a connection counts for: nobody's if the peer is one of our proxies, because it brings the requests of many. */
export const peerAddress = (peer: string | undefined, trustedProxies: readonly Cidr[]): string | undefined => {
  const address = parseIpAddress(peer ?? '')
  if (address === undefined || trustedProxies.some((cidr) => contains(cidr, address))) return undefined
  return addressKey(address)
}
