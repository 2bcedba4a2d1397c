import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generateTypes } from './generate.ts'

const filesOf = (folder: string) =>
  Object.fromEntries(
    globSync('**/*.ts', { cwd: folder }).map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  )

test('the committed types are what proto/ generates (npm run proto)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-gen-'))
  try {
    await generateTypes(folder)
    const generated = filesOf(folder)
    expect(Object.keys(generated).length).toBeGreaterThan(10)
    expect(filesOf(join(import.meta.dirname, 'gen'))).toEqual(generated)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
