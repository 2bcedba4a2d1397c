import { DatabaseSync } from 'node:sqlite'

/**
 * Keeps other processes out of a folder until it is disposed of. The lock is SQLite's on an empty database beside the folder: Node
 * has no file locks of its own, and this one ends with the process, however that ends. Throws when another process holds it.
 */
export const lockFolder = (folder: string): Disposable => {
  const lock = new DatabaseSync(`${folder.replace(/\/+$/, '')}.lock`, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    throw isBusy(error) ? new Error(`${folder} is in use by another process`, { cause: error }) : error
  }
  return { [Symbol.dispose]: () => lock.close() }
}

const SQLITE_BUSY = 5
const isBusy = (error: unknown) => error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
