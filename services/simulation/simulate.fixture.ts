import { spawn } from 'node:child_process'
import { join } from 'node:path'

export const services = join(import.meta.dirname, '..')

/** Runs `simulate.ts` of a copy of `services`. */
export const simulate = (folder: string, count: number, firstSeed: number) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const program = join(folder, 'simulate.ts')
    const child = spawn(process.execPath, [program, String(count), String(firstSeed)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    child.once('exit', (code) => resolve({ code: code ?? 1, output }))
  })
