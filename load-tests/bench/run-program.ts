import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Runs one of the programs of `load-tests` and resolves with what it writes to `--json`; whether its claim held is for the figures to say. */
export const runProgram = async (path: string, options: readonly string[]): Promise<unknown> => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'))
  try {
    const file = join(folder, 'figures.json')
    const program = fileURLToPath(new URL(`../${path}`, import.meta.url))
    const child = spawn(process.execPath, [program, '--json', file, ...options], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(child, 'exit')
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text === undefined) throw new Error(`${path} ended with ${code} and left no figures`)
    return JSON.parse(text)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
