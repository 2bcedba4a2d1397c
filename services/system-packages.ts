// The programs that tests run against, and the Debian packages that bring them.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const packages = [
  // Networks of several machines within this one.
  { name: 'iproute2', program: 'ip' },
  { name: 'iptables', program: 'iptables' },
  { name: 'openssl', program: 'openssl' },
  { name: 'postgresql', program: 'initdb' },
  { name: 'redis-server', program: 'redis-server' },
] as const

/** What only the tests of `--mode e2e` run against. */
const e2ePackages = [
  { name: 'chromium', program: 'chromium' },
  { name: 'prometheus', program: 'promtool' },
] as const

type Wanted = readonly { readonly name: string; readonly program: string }[]

type Machine = {
  readonly path: string
  /** Folders of programs beside the PATH. */
  readonly folders: readonly string[]
  readonly isRoot: boolean
}

const thisMachine = (): Machine => ({
  path: process.env['PATH'] ?? '',
  // Debian keeps PostgreSQL's programs in a folder for each version.
  folders: globSync('/usr/lib/postgresql/*/bin'),
  isRoot: process.getuid?.() === 0,
})

export const missingPackages = (
  { path, folders }: Pick<Machine, 'path' | 'folders'>,
  wanted: Wanted = packages,
): readonly string[] =>
  wanted.filter(({ program }) => !isThere(program, [...path.split(delimiter), ...folders])).map(({ name }) => name)

export type InstallResult = { readonly ok: true } | { readonly ok: false; readonly message: string }

/** Installs what is missing where that is possible; otherwise says what a person must install. */
export const installSystemPackages = (machine = thisMachine(), mode: 'test' | 'e2e' = 'test'): InstallResult => {
  const missing = missingPackages(machine, mode === 'e2e' ? [...packages, ...e2ePackages] : packages)
  if (missing.length === 0) return { ok: true }
  const names = missing.join(' ')
  const command = `apt-get install --no-install-recommends ${names}`
  if (!machine.isRoot || !isThere('apt-get', machine.path.split(delimiter)))
    return { ok: false, message: `These system packages are missing: ${names}. Install them as root: ${command}` }
  process.stderr.write(`Installing system packages (once): ${names} …\n`)
  // A new machine's package lists may be empty or old.
  const installed = aptGet('update') && aptGet('install', '--yes', '--no-install-recommends', ...missing)
  return installed ? { ok: true } : { ok: false, message: `${command} failed: apt-get says why above.` }
}

const isThere = (program: string, folders: readonly string[]) =>
  folders.some((folder) => existsSync(join(folder, program)))

const aptGet = (...options: readonly string[]) =>
  spawnSync('apt-get', ['--quiet', '--quiet', ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // RUNLEVEL: services that a package brings must not start; tests start their own.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }).status === 0
