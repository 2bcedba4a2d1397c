import { createInterface } from 'node:readline/promises'
import type { Surroundings } from './control.ts'

const instructions: Readonly<Record<string, string>> = {
  'replicas-2': 'Let exactly 2 limiters run.',
  'replicas-5': 'Scale the limiters to 5, and wait until all serve.',
  'replicas-1': 'Scale the limiters to 1.',
  'store-away': 'Cut the limiters off their store.',
  'store-back': 'Let the limiters reach their store again.',
  'kill-primary': "Kill the primary that holds the client's bucket, and wait until a replica has taken over.",
}

/** Says what to do and waits until somebody has done it. Metrics are k6's own business: `METRICS_URLS`. */
export const manualSurroundings = (): Surroundings => ({
  makeFault: async (fault) => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    const answer = await terminal.question(
      `\n>>> ${instructions[fault] ?? fault} Done? Enter; if it cannot be done: no. `,
    )
    terminal.close()
    if (answer.trim().toLowerCase() === 'no') throw new Error(`the fault ${fault} was not made`)
    return 'done, says who did it'
  },
})
