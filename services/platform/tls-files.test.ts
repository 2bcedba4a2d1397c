import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { createAuthority } from './certificates.fixture.ts'
import type { FileContent } from './live-file.ts'
import { openTlsFiles, type TlsMaterial } from './tls-files.ts'

const authority = createAuthority()
afterAll(() => authority[Symbol.dispose]())
const first = authority.issue('first')
const second = authority.issue('second')
const expired = authority.issue('expired', { days: -1 })

/** Files with these texts, watched. */
const open = async (texts: Readonly<Record<'cert' | 'key' | 'ca', string>>) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-tls-files-'))
  const at = (name: string) => join(folder, name)
  const write = async (changed: Partial<typeof texts>) => {
    for (const [name, text] of Object.entries(changed)) await writeFile(at(name), text)
  }
  await write(texts)
  const reloads: FileContent<TlsMaterial>[] = []
  const paths = { cert: at('cert'), key: at('key'), ca: at('ca') }
  const opened = await openTlsFiles({ paths, onReload: (reload) => reloads.push(reload), pollMs: 20 })
  return {
    opened,
    reloads,
    write,
    [Symbol.asyncDispose]: async () => {
      if (opened.ok) opened.file[Symbol.dispose]()
      await rm(folder, { recursive: true })
    },
  }
}

const good = { cert: first.certText, key: first.keyText, ca: authority.caText }
const damaged = authority.caText.replace(/\n[^\n]{20}/, '\nAAAAAAAAAAAAAAAAAAAA')

test.each([
  ['an expired certificate', { cert: expired.certText, key: expired.keyText }, 'cert expired on'],
  ['another certificate’s key', { key: second.keyText }, 'is not the key of'],
  ['no certificate', { cert: 'hello' }, 'cert holds no certificate'],
  ['no key', { key: '' }, 'key holds no private key'],
  ['an empty CA', { ca: '' }, 'ca holds no certificate'],
  ['a damaged CA', { ca: `${authority.caText}${damaged}` }, 'certificate 2 is damaged'],
])('%s is told, with the file', async (_, change, problem) => {
  await using files = await open({ ...good, ...change })
  expect(files.opened).toEqual({ ok: false, problems: [expect.stringContaining(problem)] })
})

test('a new certificate and key are in force when both have come; until then the old ones are', async () => {
  await using files = await open(good)
  if (!files.opened.ok) throw new Error(files.opened.problems.join())
  const { current } = files.opened.file
  await files.write({ cert: second.certText })
  await vi.waitFor(() => expect(files.reloads.at(-1)).toMatchObject({ ok: false }), 10_000)
  expect(current().identity?.cert).toBe(first.certText)
  await files.write({ key: second.keyText })
  await vi.waitFor(() => expect(current().identity?.cert).toBe(second.certText), 10_000)
  expect(current().ca).toBe(authority.caText)
})

test('files that are not named are not asked for', async () => {
  const paths = { cert: undefined, key: undefined, ca: authority.ca }
  const opened = await openTlsFiles({ paths, onReload: () => {} })
  expect(opened.ok && opened.file.current()).toEqual({ identity: undefined, ca: authority.caText })
  if (opened.ok) opened.file[Symbol.dispose]()
})
