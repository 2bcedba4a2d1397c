import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../services/platform/service.fixture.ts'
import { readingOf } from '../lib/process-reading.ts'
import { startIngress } from './ingress.ts'
import { createReplicas, sources } from './replicas.ts'

const policies = `
domain: api
subject: client
policies:
  - { name: all, by: [], capacity: 1000, refill: 1/min }
`

const openFolder = async (stack: AsyncDisposableStack) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-replicas-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'policies.yaml'), policies)
  return { LIMITER_STORE: 'memory:', LIMITER_POLICIES: join(folder, 'policies.yaml') }
}

test('replicas that go are asked no more, end soundly, and are read as they last were', async () => {
  await using stack = new AsyncDisposableStack()
  const settings = await openFolder(stack)
  const ingress = stack.use(await startIngress())
  const replicas = stack.use(
    createReplicas({
      services: sources,
      limiter: () => settings,
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

test('a port that is taken when a program wants it is not the end: the start is tried again on others', async () => {
  await using stack = new AsyncDisposableStack()
  const settings = await openFolder(stack)
  const taken = createServer()
  stack.defer(() => void taken.close())
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  let starts = 0
  const replicas = stack.use(
    createReplicas({
      services: sources,
      limiter: () => settings,
      api: () => {
        starts += 1
        return starts === 1 ? { API_ADDRESS: `127.0.0.1:${port}` } : {}
      },
      onServing: () => {},
    }),
  )
  await replicas.scaleTo(1)
  expect(starts).toBe(2)
  expect(await replicas.pages()).toHaveLength(2)
})

test('where the API cannot start its limiter is ended too, and the fault says why', async () => {
  await using stack = new AsyncDisposableStack()
  const settings = await openFolder(stack)
  const admin = `127.0.0.1:${await freePort()}`
  const replicas = stack.use(
    createReplicas({
      services: sources,
      limiter: () => ({ ...settings, LIMITER_ADMIN_ADDRESS: admin }),
      api: () => ({ API_LIMITER_DEADLINE_MS: 'soon' }),
      onServing: () => {},
    }),
  )
  await expect(replicas.scaleTo(1)).rejects.toThrow('API_LIMITER_DEADLINE_MS')
  await expect(fetch(`http://${admin}/livez`)).rejects.toThrow('fetch failed')
})
