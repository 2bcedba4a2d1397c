import { isDeepStrictEqual } from 'node:util'
import type { Timers } from '../../seams/timers.ts'
import { type ReadFiles, readPolicyFiles } from './read.ts'

const POLL_MS = 1_000

/** How long a change must stand still before it is believed. */
const SETTLE_MS = 100

type Options = {
  readonly path: string
  readonly timers: Timers
  /** What was read before; only what differs is a change. */
  readonly initial: ReadFiles
  /** Called for one change at a time. */
  readonly onChange: (read: ReadFiles) => Promise<void>
}

/**
 * Tells of every change of the policy files, by reading them once a second and comparing what they hold. Notifications of
 * the file system would be sooner, but miss symlinks swapped above a file, files deleted and made again, and network folders.
 * A change counts when two readings in a row agree, so that a file half written, or a folder half copied, is not offered.
 */
export const watchPolicyFiles = ({ path, timers, initial, onChange }: Options): AsyncDisposable => {
  let closed = false
  let wake = () => {}
  const pause = (delayMs: number) =>
    new Promise<void>((resolve) => {
      const callOff = timers.after(delayMs, resolve)
      wake = () => {
        callOff()
        resolve()
      }
    })

  const run = async () => {
    let told = initial
    let last = initial
    while (!closed) {
      await pause(isDeepStrictEqual(last, told) ? POLL_MS : SETTLE_MS)
      if (closed) return
      const now = await readPolicyFiles(path)
      const isChange = !isDeepStrictEqual(now, told) && isDeepStrictEqual(now, last)
      last = now
      if (!isChange || closed) continue
      told = now
      await onChange(now)
    }
  }
  const running = run()

  return {
    [Symbol.asyncDispose]: () => {
      closed = true
      wake()
      return running
    },
  }
}
