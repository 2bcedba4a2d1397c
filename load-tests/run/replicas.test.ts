import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readingOf } from '../lib/process-reading.ts'
import { startIngress } from './ingress.ts'
import { createReplicas, sources } from './replicas.ts'

const policies = `
domain: api
subject: client
policies:
  - { name: all, by: [], capacity: 1000, refill: 1/min }
`

test('replicas that go are asked no more, end soundly, and are read as they last were', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-replicas-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'policies.yaml'), policies)
  const ingress = stack.use(await startIngress())
  const replicas = stack.use(
    createReplicas({
      services: sources,
      limiter: () => ({ LIMITER_STORE: 'memory:', LIMITER_POLICIES: join(folder, 'policies.yaml') }),
      api: () => ({ API_LIMITER_DEADLINE_MS: '10000' }),
      onServing: ingress.setTargets,
    }),
  )
  const ask = async (times: number) => {
    for (let asked = 0; asked < times; asked += 1) {
      const answer = await fetch(`${ingress.url}/v1/orders`, { headers: { connection: 'close' } })
      await answer.arrayBuffer()
      expect(answer.headers.get('ratelimit-remaining')).not.toBeNull()
    }
  }
  const decisions = async () => {
    const readings = (await replicas.pages()).map(readingOf)
    return Object.fromEntries(
      readings.filter(({ kind }) => kind === 'limiter').map(({ name, decisions: made }) => [name, made]),
    )
  }

  await replicas.scaleTo(2)
  await ask(6)
  expect(await decisions()).toEqual({ 'limiter 0': 3, 'limiter 1': 3 })
  await replicas.scaleTo(1)
  await ask(4)
  expect(await decisions()).toEqual({ 'limiter 0': 7, 'limiter 1': 3 })
  const readings = (await replicas.pages()).map(readingOf)
  expect(readings.map(({ name, kind }) => `${name}: ${kind}`).toSorted()).toEqual([
    'api 0: api',
    'api 1: api',
    'limiter 0: limiter',
    'limiter 1: limiter',
  ])
  expect(readings.map(({ local }) => local)).toEqual(readings.map(() => ({ share: 0, storeless: 0, fallback: 0 })))
  for (const { cpuS, heapBytes, residentBytes } of readings)
    expect(Math.min(cpuS, heapBytes, residentBytes)).toBeGreaterThan(0)
})
