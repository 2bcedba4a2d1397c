import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Kept from run to run. */
const cache = fileURLToPath(new URL('../../.cache', import.meta.url))

const PYTHON_REMEDY = 'This test needs Python 3.10 or newer; on Debian: apt-get install python3 python3-venv'
const PIP_REMEDY = 'pip could not install the packages of requirements.txt: it says why below.'

/** The folder of programs of a virtual environment with these packages; makes it if it is missing or was for other ones. */
export const buildPythonEnvironment = async (name: string, requirements: string): Promise<string> => {
  const folder = join(cache, name)
  const programs = join(folder, 'bin')
  const stamp = join(folder, '.installed')
  const version = await run('python3', ['--version'], PYTHON_REMEDY)
  const wanted = `${version}${await readFile(requirements, 'utf8')}`
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return programs
  await run('python3', ['-m', 'venv', '--clear', folder], PYTHON_REMEDY)
  const install = ['-m', 'pip', 'install', '--quiet', '--requirement', requirements]
  await run(join(programs, 'python'), install, PIP_REMEDY)
  await writeFile(stamp, wanted)
  return programs
}

const run = async (program: string, options: readonly string[], remedy: string) => {
  try {
    return (await promisify(execFile)(program, options)).stdout
  } catch (error) {
    throw new Error(remedy, { cause: error })
  }
}
