import { mkdir, mkdtemp, open as openHandle, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { type FileContent, openLiveFile } from './live-file.ts'

const openFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'weir-live-file-'))
  return { path, at: (name: string) => join(path, name), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

/** Its words, which are all of small letters. */
const parse = (text: string): FileContent<readonly string[]> => {
  const words = text.split(/\s+/).filter((word) => word !== '')
  const wrong = words.filter((word) => !/^[a-z]+$/.test(word))
  return wrong.length === 0 ? { ok: true, value: words } : { ok: false, problems: wrong.map((word) => `not ${word}`) }
}

const open = async (path: string, settleMs = 20) => {
  const reloads: FileContent<readonly string[]>[] = []
  const opened = await openLiveFile({ path, parse, onReload: (reload) => reloads.push(reload), pollMs: 20, settleMs })
  return { file: opened.ok ? opened.file : expect.fail(opened.problems.join()), reloads }
}

test('a changed file is in force without a restart', async () => {
  await using folder = await openFolder()
  await writeFile(folder.at('words'), 'one')
  const { file, reloads } = await open(folder.at('words'))
  using _ = file
  expect(file.current()).toEqual(['one'])
  await writeFile(folder.at('words'), 'one two')
  await vi.waitFor(() => expect(file.current()).toEqual(['one', 'two']))
  expect(reloads).toEqual([{ ok: true, value: ['one', 'two'] }])
})

test('a rejected reload tells every problem and leaves the last good content in force, as does a missing file', async () => {
  await using folder = await openFolder()
  const path = folder.at('words')
  await writeFile(path, 'one')
  const { file, reloads } = await open(path)
  using _ = file
  const good = file.current()
  await writeFile(path, 'TWO THREE')
  await vi.waitFor(() => expect(reloads).toEqual([{ ok: false, problems: ['not TWO', 'not THREE'] }]))
  expect(file.current()).toBe(good)
  await rm(path)
  await vi.waitFor(() => expect(reloads.at(-1)).toMatchObject({ problems: [expect.stringContaining('ENOENT')] }))
  expect(file.current()).toBe(good)
  await writeFile(path, 'four')
  await vi.waitFor(() => expect(file.current()).toEqual(['four']))
})

test('a file that is written in pieces is believed when it stands still', async () => {
  await using folder = await openFolder()
  await writeFile(folder.at('words'), 'one')
  const { file, reloads } = await open(folder.at('words'), 400)
  using _ = file
  await using handle = await openHandle(folder.at('words'), 'w')
  for (const piece of ['two', ' th', 'ree']) {
    await handle.write(piece)
    await delay(60)
  }
  await vi.waitFor(() => expect(file.current()).toEqual(['two', 'three']), { timeout: 5_000 })
  // A poll may have noticed the last piece by itself; nothing but the whole was ever believed.
  for (const reload of reloads) expect(reload).toEqual({ ok: true, value: ['two', 'three'] })
})

test('the symbolic link of a mounted secret may be swapped', async () => {
  await using folder = await openFolder()
  await mkdir(folder.at('..one'))
  await writeFile(folder.at('..one/words'), 'one')
  await symlink('..one', folder.at('..data'))
  await symlink('..data/words', folder.at('words'))
  const { file } = await open(folder.at('words'))
  using _ = file
  await mkdir(folder.at('..two'))
  await writeFile(folder.at('..two/words'), 'two')
  await symlink('..two', folder.at('..data_tmp'))
  await rename(folder.at('..data_tmp'), folder.at('..data'))
  await vi.waitFor(() => expect(file.current()).toEqual(['two']))
})

test('a file that is not there, one that is too large and one that is wrong are not opened', async () => {
  await using folder = await openFolder()
  const problemsOf = async (path: string) => {
    const opened = await openLiveFile({ path, parse, onReload: () => {} })
    return opened.ok ? expect.fail('opened') : opened.problems
  }
  expect(await problemsOf(folder.at('none'))).toEqual([expect.stringContaining(`${folder.at('none')} cannot be read`)])
  await writeFile(folder.at('large'), '')
  await truncate(folder.at('large'), 9 * 1024 * 1024)
  expect(await problemsOf(folder.at('large'))).toEqual([expect.stringContaining('is larger than')])
  await writeFile(folder.at('wrong'), 'ONE')
  expect(await problemsOf(folder.at('wrong'))).toEqual(['not ONE'])
})

test('nothing is told after the end', async () => {
  await using folder = await openFolder()
  await writeFile(folder.at('words'), 'one')
  const { file, reloads } = await open(folder.at('words'), 300)
  await writeFile(folder.at('words'), 'two')
  // Noticed by now, and not yet believed.
  await delay(150)
  file[Symbol.dispose]()
  await delay(400)
  expect(reloads).toEqual([])
  expect(file.current()).toEqual(['one'])
})
