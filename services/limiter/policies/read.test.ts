import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { formatProblem } from './problem.ts'
import { readPolicyFiles } from './read.ts'
import { openTemporaryFolder } from './temporary-folder.fixture.ts'

const faultsOf = async (path: string) => {
  const read = await readPolicyFiles(path)
  return read.ok ? [] : read.problems.map(formatProblem)
}

test('a file is read, whatever its name, without its byte order mark', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies'), '\uFEFFdomain: api')
  expect(await readPolicyFiles(folder.at('policies'))).toEqual({
    ok: true,
    files: [{ name: folder.at('policies'), text: 'domain: api' }],
  })
})

test('of a folder, the policy files directly in it are read by name; hidden files and folders are not', async () => {
  await using folder = await openTemporaryFolder()
  for (const name of ['c.json', 'a.yaml', 'b.yml', '.a.yaml.swp', '.hidden.yaml', 'README.md', 'yaml', 'd.yaml~'])
    await writeFile(folder.at(name), name)
  await mkdir(folder.at('folder.yaml'))
  await writeFile(folder.at('folder.yaml', 'e.yaml'), 'e')
  await symlink(folder.at('README.md'), folder.at('link.yaml'))
  const read = await readPolicyFiles(folder.at())
  expect(read.ok && read.files).toEqual([
    { name: folder.at('a.yaml'), text: 'a.yaml' },
    { name: folder.at('b.yml'), text: 'b.yml' },
    { name: folder.at('c.json'), text: 'c.json' },
    { name: folder.at('link.yaml'), text: 'README.md' },
  ])
})

test('what is not there is a problem', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('file'), '')
  const missing = '1:1: does not exist: name a policy file, or a folder of them'
  expect(await faultsOf(folder.at('none.yaml'))).toEqual([`${folder.at('none.yaml')}:${missing}`])
  expect(await faultsOf(folder.at('file', 'none.yaml'))).toEqual([`${folder.at('file', 'none.yaml')}:${missing}`])
})

test('a folder without policy files is a problem', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('README.md'), '')
  await mkdir(folder.at('folder.yaml'))
  expect(await faultsOf(folder.at())).toEqual([
    `${folder.at()}:1:1: has no policy file: put a .yaml, .yml or .json file into it`,
  ])
})

test('every file of a folder that cannot be read is a problem', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('a.yaml'), '')
  await symlink(folder.at('gone'), folder.at('b.yaml'))
  await symlink(folder.at('c.yaml'), folder.at('c.yaml'))
  await writeFile(folder.at('d.yaml'), Buffer.from([0x61, 0xff]))
  await writeFile(folder.at('e.yaml'), '')
  await truncate(folder.at('e.yaml'), 1024 * 1024 + 1)
  expect(await faultsOf(folder.at())).toEqual([
    `${folder.at('b.yaml')}:1:1: does not exist: name a policy file, or a folder of them`,
    expect.stringContaining(`${folder.at('c.yaml')}:1:1: cannot be read: ELOOP`),
    `${folder.at('d.yaml')}:1:1: is not UTF-8: save it as UTF-8`,
    `${folder.at('e.yaml')}:1:1: is larger than 1048576 bytes: split it, one domain a file`,
  ])
})

test('a folder of too many files is a problem', async () => {
  await using folder = await openTemporaryFolder()
  await Promise.all(Array.from({ length: 101 }, (_, index) => writeFile(folder.at(`${index}.yaml`), '')))
  expect(await faultsOf(folder.at())).toEqual([
    `${folder.at()}:1:1: has more than 100 policy files: put several domains in one`,
  ])
})

test('what is neither a file nor a folder is a problem, and is not waited for', async () => {
  await using folder = await openTemporaryFolder()
  await using stack = new AsyncDisposableStack()
  const server = createServer()
  stack.defer(() => new Promise<void>((resolve) => server.close(() => resolve())))
  await new Promise<void>((resolve) => server.listen(folder.at('socket'), resolve))
  expect(await faultsOf(folder.at('socket'))).toEqual([
    `${folder.at('socket')}:1:1: is neither a file nor a folder: name one`,
  ])
})
