// The programs that tests run against, and the Debian packages that bring them.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

type SystemPackage = {
  readonly debianPackage: string
  readonly program: string
  /** Folders beside the PATH; Debian keeps PostgreSQL's programs in one for each version. */
  readonly alsoIn: readonly string[]
}

const packages: readonly SystemPackage[] = [
  { debianPackage: 'postgresql', program: 'initdb', alsoIn: globSync('/usr/lib/postgresql/*/bin') },
  { debianPackage: 'redis-server', program: 'redis-server', alsoIn: [] },
]

/** Installs what is missing where that is possible; otherwise says what a person must install. */
export const installSystemPackages = (): { readonly ok: true } | { readonly ok: false; readonly message: string } => {
  const missing = packages.filter((one) => !isInstalled(one)).map(({ debianPackage }) => debianPackage)
  if (missing.length === 0) return { ok: true }
  const names = missing.join(' ')
  if (process.getuid?.() !== 0 || !isOnPath('apt-get'))
    return {
      ok: false,
      message: `These system packages are missing: ${names}. Install them, as root, with: apt-get install --no-install-recommends ${names}`,
    }
  process.stderr.write(`Installing system packages (once): ${names} …\n`)
  // A new machine's package lists may be empty or old.
  const installed = aptGet('update') && aptGet('install', '--yes', '--no-install-recommends', ...missing)
  return installed ? { ok: true } : { ok: false, message: `apt-get could not install ${names}: it says why above.` }
}

const isInstalled = ({ program, alsoIn }: SystemPackage) =>
  isOnPath(program) || alsoIn.some((folder) => existsSync(join(folder, program)))

const isOnPath = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

const aptGet = (...options: readonly string[]) =>
  spawnSync('apt-get', ['--quiet', '--quiet', ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // Services that a package brings must not start: tests start their own.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  }).status === 0
