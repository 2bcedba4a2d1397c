import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMessageReader, withHead } from './grpc-messages.ts'

const open = (maxBytes = 100) => {
  const messages: string[] = []
  const faults: string[] = []
  const read = createMessageReader({
    maxBytes,
    onMessage: (message) => messages.push(message.toString('hex')),
    onFault: (fault) => faults.push(fault),
  })
  return { read, messages, faults }
}

test('messages are the same in whatever pieces they arrive', () => {
  const anyMessages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 })
  fc.assert(
    fc.property(anyMessages, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, sizes) => {
      const { read, messages, faults } = open()
      const bytes = Buffer.concat(sent.map((message) => withHead(Buffer.from(message))))
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1
        read(bytes.subarray(at, at + size))
        at += size
      }
      expect(messages).toEqual(sent.map((message) => Buffer.from(message).toString('hex')))
      expect(faults).toEqual([])
    }),
  )
})

test('a message that is too large is a fault before it is there, and nothing is read after it', () => {
  const { read, messages, faults } = open(3)
  const large = withHead(Buffer.alloc(4))
  read(Buffer.concat([withHead(Buffer.from([7])), large.subarray(0, 5)]))
  read(Buffer.concat([large.subarray(5), withHead(Buffer.from([8]))]))
  expect(messages).toEqual(['07'])
  expect(faults).toEqual(['a message of 4 bytes: at most 3 are taken'])
})

test('a compressed message is a fault', () => {
  const { read, faults } = open()
  read(Buffer.from([1, 0, 0, 0, 0]))
  expect(faults).toHaveLength(1)
})
