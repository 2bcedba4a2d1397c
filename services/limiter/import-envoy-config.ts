// npm run import-envoy-config -- DIR [--shadow] [--out FOLDER]: envoyproxy/ratelimit's configuration as policy files.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ImportedFile, importConfig } from './policies/import-envoy/import-config.ts'
import { formatProblem, type PolicyProblem } from './policies/problem.ts'
import { readPolicyFiles } from './policies/read.ts'

const USAGE = `Usage: npm run import-envoy-config -- DIR [--shadow] [--out FOLDER]
DIR is a folder of envoyproxy/ratelimit's configuration, or one file of it. The policies go to standard output, or into
one file for each domain in FOLDER. With --shadow every limit is only rehearsed: it is counted, and nobody is refused.
`

type Command = { readonly path: string; readonly out: string | undefined; readonly shadow: boolean }

const parseCommand = (argv: readonly string[]): Command | undefined => {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: { out: { type: 'string' }, shadow: { type: 'boolean', default: false } },
      allowPositionals: true,
    })
    const [path, ...rest] = positionals
    return path === undefined || rest.length > 0 ? undefined : { path, out: values.out, shadow: values.shadow }
  } catch {
    // An option that does not exist.
    return undefined
  }
}

const run = async ({ path, out, shadow }: Command) => {
  const read = await readPolicyFiles(path)
  const imported = read.ok ? importConfig(read.files, { shadow }) : read
  if (!imported.ok) {
    tell(imported.problems)
    const count = imported.problems.length === 1 ? '1 problem' : `${imported.problems.length} problems`
    process.stderr.write(`\n${count}: nothing was imported.\n`)
    return 1
  }
  tell(imported.notes)
  if (out === undefined) process.stdout.write(imported.files.map(({ text }) => text).join('---\n'))
  else await writeFiles(out, imported.files)
  return 0
}

const tell = (problems: readonly PolicyProblem[]) => {
  for (const problem of problems) process.stderr.write(`${formatProblem(problem)}\n`)
}

const writeFiles = async (folder: string, files: readonly ImportedFile[]) => {
  await mkdir(folder, { recursive: true })
  for (const { domain, text } of files) {
    const file = join(folder, `${encodeURIComponent(domain)}.yaml`)
    await writeFile(file, text)
    process.stdout.write(`${file}\n`)
  }
}

const command = parseCommand(process.argv.slice(2))
if (command === undefined) {
  process.stderr.write(USAGE)
  process.exitCode = 1
} else process.exitCode = await run(command)
