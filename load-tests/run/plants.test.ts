import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parsePolicies } from '../../services/limiter/policies/parse.ts'
import { type Plant, plants } from './plants.ts'
import { localPolicies } from './policies.ts'
import { sources } from './replicas.ts'

const all: readonly (readonly [string, Plant])[] = Object.entries(plants)

test('the policies of the local installation are sound, with each plant that changes them, and each does', () => {
  expect(parsePolicies([{ name: 'policies.yaml', text: localPolicies }]).ok).toBe(true)
  for (const [name, { policies }] of all) {
    if (policies === undefined) continue
    const text = policies(localPolicies)
    expect(text, name).not.toBe(localPolicies)
    expect(parsePolicies([{ name: 'policies.yaml', text }]), name).toMatchObject({ ok: true })
  }
})

test('a changed copy of the services differs in the one file, and the services stay as they are', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-plant-'))
  try {
    const before = await readFile(`${sources}limiter/redis/take.lua`, 'utf8')
    const copy = await plants['not-atomic'].services(folder)
    const planted = await readFile(`${copy}limiter/redis/take.lua`, 'utf8')
    expect(planted).toContain(':stale')
    expect(await readFile(`${sources}limiter/redis/take.lua`, 'utf8')).toBe(before)
    expect(await readFile(`${copy}limiter/main.ts`, 'utf8')).toBe(await readFile(`${sources}limiter/main.ts`, 'utf8'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('only the limiters that a plant is about have other settings', () => {
  const third = plants['own-bucket-of-the-third'].limiter
  expect([0, 1, 2, 3].map((index) => Object.keys(third(index)))).toEqual([[], [], ['LIMITER_STORE'], ['LIMITER_STORE']])
})
