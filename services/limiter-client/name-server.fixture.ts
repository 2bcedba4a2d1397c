import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import type { Names } from '../seams/names.ts'

const TTL_S = 1
const TYPE_A = 1
const REFUSED = 5

/** A real DNS server on loopback, for one name; its addresses are the test's to change. */
export const openNameServer = async (name: string) => {
  let addresses: readonly string[] | 'silence' | 'refused' = []
  let asked = 0
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    asked += 1
    if (addresses === 'silence') return
    const reply = replyTo(query, name, addresses === 'refused' ? undefined : addresses)
    socket.send(reply, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 500, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  const names: Names = { resolve: (host) => resolver.resolve4(host).catch(() => []) }
  return {
    names,
    asked: () => asked,
    standFor: (...next: readonly string[]) => {
      addresses = next
    },
    fail: (how: 'silence' | 'refused') => {
      addresses = how
    },
    [Symbol.dispose]: () => {
      resolver.cancel()
      socket.close()
    },
  }
}

/** RFC 1035, section 4: the question again, and an answer for each address. */
const replyTo = (query: Buffer, name: string, addresses: readonly string[] | undefined) => {
  const { name: asked, end } = readName(query, 12)
  const answers = addresses !== undefined && asked === name ? addresses.map(addressRecord) : []
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8580 | (addresses === undefined ? REFUSED : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(answers.length, 6)
  return Buffer.concat([head, query.subarray(12, end + 4), ...answers])
}

const readName = (query: Buffer, start: number) => {
  const labels: string[] = []
  let at = start
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

const addressRecord = (address: string) => {
  const record = Buffer.alloc(16)
  // The name is the question's.
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(TYPE_A, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt32BE(TTL_S, 6)
  record.writeUInt16BE(4, 10)
  Buffer.from(address.split('.').map(Number)).copy(record, 12)
  return record
}
