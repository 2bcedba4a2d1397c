import { chmod, rm } from 'node:fs/promises'
import { connect } from 'node:net'

/** The owner and the group of the volume that both containers share. */
const SOCKET_MODE = 0o660

/** A socket outlives its process when that is killed, and nobody else can listen on it then: removed if nobody answers. */
export const removeStaleSocket = async (path: string) => {
  if (!(await answers(path))) await rm(path, { force: true })
}

export const restrictSocket = (path: string) => chmod(path, SOCKET_MODE)

const answers = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path)
    const settle = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', () => settle(true))
    // Only a refused connection proves that the listener is gone; any other error is left for the bind to report.
    socket.once('error', (error) => settle(!('code' in error && error.code === 'ECONNREFUSED')))
  })
