import type { Reader } from './settings.ts'

/** Where a server listens. */
export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export const tcpAddress: Reader<Extract<Address, { kind: 'tcp' }>> = {
  read: (text) => {
    // An IPv6 host is written in brackets, as in a URL.
    const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^[\]:/\s]+)):(?<port>\d{1,5})$/.exec(text)
    const host = match?.groups?.['ipv6'] ?? match?.groups?.['host']
    const port = Number(match?.groups?.['port'])
    if (host === undefined || port > 65_535) return { ok: false, expected: 'host:port, as in 127.0.0.1:8080' }
    return { ok: true, value: { kind: 'tcp', host, port } }
  },
}

export const address: Reader<Address> = {
  read: (text) => {
    const path = /^unix:(?<path>\/.+)$/.exec(text)?.groups?.['path']
    if (path !== undefined) return { ok: true, value: { kind: 'unix', path } }
    const tcp = tcpAddress.read(text)
    return tcp.ok ? tcp : { ok: false, expected: 'host:port, as in 127.0.0.1:50051, or unix:/path' }
  },
}

export const formatAddress = (address: Address) => {
  if (address.kind === 'unix') return `unix:${address.path}`
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}

/** What to tell a person whose server could not listen. */
export const listenFault = (setting: string, address: Address, error: Error) => {
  const text = `${setting}: cannot listen on ${formatAddress(address)}`
  // grpc-js keeps the system's code only in the message.
  const code = /\bE[A-Z]{4,}\b|Name resolution failed/.exec(error.message)?.[0]
  switch (code) {
    case 'EADDRINUSE':
      return `${text}: another process uses it. End that process, or set ${setting} to a free address`
    case 'EACCES':
      return `${text}: not permitted. Set ${setting} to an address that this user may listen on (ports from 1024 up)`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'Name resolution failed':
      return `${text}: this machine has no such address. Set ${setting} to one that it has`
    default:
      return `${text}: ${error.message}`
  }
}
