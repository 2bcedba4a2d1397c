// Attacks as told, in a process of its own and of the lowest priority: what is measured is what they cost the server, and not that they
// take the processor from it.
import { constants, setPriority } from 'node:os'
import { attacks, STOP } from './attacks.fixture.ts'

setPriority(constants.priority.PRIORITY_LOW)

const port = Number(process.env['PORT'])
let stop = new AbortController()

/** The claim of an attack to begin with, or STOP. */
process.on('message', async (claim: string) => {
  if (claim === STOP) return stop.abort()
  stop = new AbortController()
  await attacks.find((attack) => attack.claim === claim)?.run({ port, signal: stop.signal })
  process.send?.('over')
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
