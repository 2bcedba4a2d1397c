import type { Endpoint } from '../channel/http2-link.ts'

/** What the setting of a limiter's address says. */
export type LimiterAddress =
  /** A name that stands for any number of limiters, which come and go. */
  | { readonly kind: 'name'; readonly name: string; readonly port: number }
  | { readonly kind: 'one'; readonly endpoint: Endpoint; readonly serverName: string }

/** `host:port`, `dns:///name:port` or `unix:/path`; `undefined` when it is none of them. */
export const parseLimiterAddress = (text: string): LimiterAddress | undefined => {
  const path = /^unix:(?<path>\/\S+)$/.exec(text)?.groups?.['path']
  if (path !== undefined) return { kind: 'one', endpoint: { path }, serverName: 'localhost' }
  const found = /^(?<dns>dns:\/\/\/)?(?:\[(?<ipv6>[\da-f:.]+)\]|(?<host>[^\s/:[\]]+)):(?<port>\d{1,5})$/i.exec(
    text,
  )?.groups
  const host = found?.['ipv6'] ?? found?.['host']
  const port = Number(found?.['port'])
  if (host === undefined || port < 1 || port > 65_535) return undefined
  return found?.['dns'] === undefined
    ? { kind: 'one', endpoint: { host, port }, serverName: host }
    : { kind: 'name', name: host, port }
}
