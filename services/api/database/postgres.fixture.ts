import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chownSync, constants, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'

export type PostgresFixture = AsyncDisposable & {
  /** A new, empty database. */
  readonly createDatabase: () => Promise<string>
  /** Ends the server the way a crash does; every connection breaks. */
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
}

/** A private PostgreSQL in a folder of its own, on a Unix socket. */
export const startPostgres = async (): Promise<PostgresFixture> => {
  const binaries = findBinaries()
  const folder = mkdtempSync(join(tmpdir(), 'weir-postgres-'))
  const account = unprivileged()
  if (account !== undefined) chownSync(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  const initialise = ['-D', data, '-U', 'weir', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  await run(join(binaries, 'initdb'), initialise, account)

  let stopServer: (() => Promise<void>) | undefined
  const start = async () => {
    stopServer = await serve({ binary: join(binaries, 'postgres'), data, folder, account })
  }
  const stop = async () => {
    await stopServer?.()
    stopServer = undefined
  }
  const url = (name: string) => `postgres://weir@localhost/${name}?host=${encodeURIComponent(folder)}`
  let databases = 0

  await start()
  return {
    createDatabase: async () => {
      databases += 1
      const client = new Client({ connectionString: url('postgres') })
      await client.connect()
      await client.query(`create database test_${databases}`)
      await client.end()
      return url(`test_${databases}`)
    },
    stop,
    start,
    [Symbol.asyncDispose]: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const findBinaries = () => {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    // Debian keeps the server's programs off the PATH, in a folder for each version.
    ...globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true })),
  ]
  const found = folders.find((folder) => isExecutable(join(folder, 'initdb')) && isExecutable(join(folder, 'postgres')))
  if (found === undefined)
    throw new Error('initdb and postgres were not found: install PostgreSQL (the Debian package `postgresql`)')
  return found
}

const isExecutable = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

type Account = { readonly uid: number; readonly gid: number } | undefined

/** PostgreSQL refuses to run as root; `nobody` has these numbers on every Linux. */
const unprivileged = (): Account => (process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined)

const run = async (binary: string, parameters: readonly string[], account: Account) => {
  const child = spawn(binary, parameters, { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint += String(chunk)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${binary} ended with ${code}: ${complaint}`)
}

type Server = {
  readonly binary: string
  readonly data: string
  readonly folder: string
  readonly account: Account
}

/** Resolves when the server accepts connections, with what stops it. */
const serve = async ({ binary, data, folder, account }: Server) => {
  const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'fsync=off', 'max_connections=60']
  const child = spawn(binary, ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...account,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line)
    if (line.includes('ready to accept connections')) break
  }
  if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}: ${lines.join('\n')}`)
  child.stderr.resume()
  return async () => {
    child.kill('SIGQUIT')
    await closed
  }
}
