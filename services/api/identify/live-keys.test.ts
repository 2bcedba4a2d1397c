import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createApiKey, hashApiKey } from './api-key.ts'
import { formatKeyLine } from './key-line.ts'
import { type KeysReload, openLiveKeys } from './live-keys.ts'

const keyLine = () => {
  const { keyId, key } = createApiKey()
  return formatKeyLine({ keyId, hash: hashApiKey(key), owner: undefined, plan: 'free', permissions: new Set() })
}

const openFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'weir-live-keys-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

const open = async (path: string) => {
  const reloads: KeysReload[] = []
  const opened = await openLiveKeys({ path, pollMs: 20, onReload: (reload) => reloads.push(reload) })
  return { keys: opened.ok ? opened.keys : expect.fail(opened.problems.join()), reloads }
}

test('a changed file is in force without a restart', async () => {
  await using folder = await openFolder()
  const path = join(folder.path, 'keys')
  await writeFile(path, keyLine())
  const { keys, reloads } = await open(path)
  using _ = keys
  expect(keys.current().size).toBe(1)
  await writeFile(path, `${keyLine()}\n${keyLine()}`)
  await vi.waitFor(() => expect(keys.current().size).toBe(2))
  expect(reloads).toContainEqual({ ok: true, keys: 2 })
})

test('a rejected reload names every fault with its line and leaves the last good keys in force, as does a missing file', async () => {
  await using folder = await openFolder()
  const path = join(folder.path, 'keys')
  await writeFile(path, keyLine())
  const { keys, reloads } = await open(path)
  using _ = keys
  const good = keys.current()
  await writeFile(path, `${keyLine()}\n{"id":`)
  await vi.waitFor(() => expect(reloads).toContainEqual({ ok: false, problems: [`${path}:2 is not a JSON object`] }))
  expect(keys.current()).toBe(good)
  await rm(path)
  await vi.waitFor(() => expect(reloads.at(-1)).toMatchObject({ problems: [expect.stringContaining('ENOENT')] }))
  expect(keys.current()).toBe(good)
  await writeFile(path, '')
  await vi.waitFor(() => expect(keys.current().size).toBe(0))
})

test('the symbolic link of a mounted secret may be swapped', async () => {
  await using folder = await openFolder()
  const at = (name: string) => join(folder.path, name)
  await mkdir(at('..one'))
  await writeFile(at('..one/keys'), keyLine())
  await symlink('..one', at('..data'))
  await symlink('..data/keys', at('keys'))
  const { keys } = await open(at('keys'))
  using _ = keys
  await mkdir(at('..two'))
  await writeFile(at('..two/keys'), `${keyLine()}\n${keyLine()}`)
  await symlink('..two', at('..data_tmp'))
  await rename(at('..data_tmp'), at('..data'))
  await vi.waitFor(() => expect(keys.current().size).toBe(2))
})
