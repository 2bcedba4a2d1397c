import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Surroundings } from './control.ts'

const instructions: Readonly<Record<string, string>> = {
  'replicas-2': 'Let exactly 2 limiters run.',
  'replicas-5': 'Scale the limiters to 5, and wait until all serve.',
  'replicas-1': 'Scale the limiters to 1.',
  'store-away': 'Cut the limiters off their store.',
  'store-back': 'Let the limiters reach their store again.',
  'kill-primary': "Kill the primary that holds the client's bucket, and wait until a replica has taken over.",
}

type Terminal = { readonly input: Readable; readonly output: NodeJS.WritableStream }

/**
 * Says what to do and waits until somebody has done it. Metrics are k6's own business: `METRICS_URLS`. Disposing of it lets go of the
 * input, which would keep the process alive.
 */
export const manualSurroundings = (
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Surroundings & Disposable => ({
  makeFault: async (fault) => {
    const answer = await ask(
      { input, output },
      `\n>>> ${instructions[fault] ?? fault} Done? Enter; if it cannot be done: no. `,
    )
    if (answer === undefined) throw new Error(`nobody is there to make the fault ${fault}: the input has ended`)
    if (answer.trim().toLowerCase() === 'no') throw new Error(`the fault ${fault} was not made`)
    return 'done, says who did it'
  },
  [Symbol.dispose]: () => {
    input.destroy()
  },
})

/** Undefined where the input ends first. */
const ask = ({ input, output }: Terminal, question: string) =>
  new Promise<string | undefined>((resolve) => {
    const lines = createInterface({ input, output })
    lines.once('close', () => resolve(undefined))
    lines.question(question, (answer) => {
      resolve(answer)
      lines.close()
    })
  })
