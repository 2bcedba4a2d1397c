import type { Socket } from 'node:net'
import { httpLimits } from './limits.ts'

/** Tells, after each piece that has been read of a connection, whether more of it may be read. */
export type Lingering = (socket: Pick<Socket, 'bytesRead'>) => () => boolean

/**
 * Bounds what is read, and thrown away, of clients that send on after their answer: of each, and in the long run of all together,
 * because every byte of it is memory that the garbage collector stops everybody for.
 */
export const boundLingering = (nowMs: () => number = () => performance.now()): Lingering => {
  let leftBytes: number = httpLimits.lingerBytesInAll
  let atMs = nowMs()

  const spend = (bytes: number) => {
    const now = nowMs()
    const gained = ((now - atMs) / 1_000) * httpLimits.lingerBytesPerS
    const left = Math.min(leftBytes + gained, httpLimits.lingerBytesInAll) - bytes
    leftBytes = Math.max(0, left)
    atMs = now
    return left >= 0
  }

  return (socket) => {
    const startBytes = socket.bytesRead
    let readBytes = startBytes
    return () => {
      const bytes = socket.bytesRead - readBytes
      readBytes += bytes
      return spend(bytes) && readBytes - startBytes <= httpLimits.lingerBytes
    }
  }
}
