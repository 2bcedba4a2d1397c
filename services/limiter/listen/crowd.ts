import type { Socket } from 'node:net'

/** Counts the connections of each address that has some. */
export const createCrowd = (maxFromAddress: number) => {
  const counts = new Map<string, number>()
  return {
    /** Whether its address may have one more; if so, it is counted until it closes. Of a Unix socket there are no addresses. */
    admit: (socket: Socket): boolean => {
      const { remoteAddress } = socket
      if (remoteAddress === undefined) return true
      const count = counts.get(remoteAddress) ?? 0
      if (count >= maxFromAddress) return false
      counts.set(remoteAddress, count + 1)
      socket.once('close', () => {
        const left = (counts.get(remoteAddress) ?? 1) - 1
        if (left === 0) counts.delete(remoteAddress)
        else counts.set(remoteAddress, left)
      })
      return true
    },
  }
}
