import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = 'v1.8.1'

const cache = fileURLToPath(new URL(`../../.cache/k6/${VERSION}`, import.meta.url))
const cached = join(cache, 'k6')

export type FoundK6 = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly message: string }

/**
 * k6 where it is: named by `K6`, on the PATH, where `WEIR_KUBE` keeps its programs, or from an earlier search. Else unpacked from
 * `WEIR_KUBE`, or built from its Go module, once.
 */
export const findK6 = (): FoundK6 => {
  const named = process.env['K6']
  if (named !== undefined) return runs(named) ? found(named) : { ok: false, message: `K6=${named} does not run.` }
  const kubeCache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'weir-kube', 'bin', 'k6')
  const there = ['k6', kubeCache, cached].find(runs)
  if (there !== undefined) return found(there)
  if (unpack() || build()) return found(cached)
  return {
    ok: false,
    message:
      'k6 was not found and could not be installed. Put k6 (1.0 or newer) on the PATH or name it by K6=/path/to/k6; ' +
      'with Go 1.24 or newer on the PATH it is built here.',
  }
}

const found = (path: string): FoundK6 => ({ ok: true, path })

const runs = (path: string) => spawnSync(path, ['version'], { stdio: 'ignore' }).status === 0

const unpack = () => {
  const packed = resolve(process.env['WEIR_KUBE'] ?? '/nowhere', 'prebuilt', 'k6.xz')
  if (!existsSync(packed)) return false
  mkdirSync(cache, { recursive: true })
  // Renamed when it is whole: two runs may do this at once.
  const command = 'xz -dc "$0" > "$1.$$" && chmod 755 "$1.$$" && mv "$1.$$" "$1"'
  return spawnSync('sh', ['-c', command, packed, cached], { stdio: 'inherit' }).status === 0 && runs(cached)
}

const build = () => {
  process.stderr.write(`Building k6 ${VERSION} from its Go module (once, some minutes) …\n`)
  mkdirSync(cache, { recursive: true })
  const built = spawnSync('go', ['install', '-trimpath', `go.k6.io/k6@${VERSION}`], {
    stdio: 'inherit',
    env: { ...process.env, GOBIN: cache, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' },
  })
  return built.status === 0 && runs(cached)
}
