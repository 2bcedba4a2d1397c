import { expect, test } from 'vitest'
import { startCluster } from '../../services/limiter/redis/redis-server.fixture.ts'
import { localSurroundings } from './faults-local.ts'
import { askRedis, isHealthy, isPrimary } from './redis-nodes.ts'
import type { Replicas } from './replicas.ts'

/** That nobody scales here. */
const noReplicas = {
  scaleTo: () => Promise.reject(new Error('not asked for here')),
  limiterPorts: () => [],
  pages: () => Promise.resolve([]),
  [Symbol.asyncDispose]: () => Promise.resolve(),
} satisfies Replicas

test('the store goes away as a whole, keeps what it held, and comes back', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  const { makeFault } = localSurroundings({ cluster, replicas: noReplicas })
  const [{ port } = { port: 0 }] = cluster.nodes
  await makeFault('store-away')
  expect(await isHealthy(port)).toBe(false)
  await makeFault('store-back')
  expect(await isHealthy(port)).toBe(true)
})

test('the primary that holds the bucket of the hot client dies, and a replica has taken over when it is said so', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 1 })
  const { makeFault } = localSurroundings({ cluster, replicas: noReplicas })
  await expect(makeFault('kill-primary')).rejects.toThrow('no primary holds a bucket')

  const ports = cluster.nodes.map(({ port }) => port)
  const primariesOf = async (some: readonly number[]) =>
    (await Promise.all(some.map(async (port) => ((await isPrimary(port)) ? [port] : [])))).flat()
  const primaries = await primariesOf(ports)
  const set = await Promise.all(primaries.map((port) => askRedis(port, 'SET', 'weir:{a}:user:hot-0', 'x')))
  const victim = primaries[set.indexOf('OK')]
  expect(await makeFault('kill-primary')).toContain(`the primary on port ${victim} with the bucket is dead`)
  const left = ports.filter((port) => port !== victim)
  expect(await primariesOf(left)).toHaveLength(3)
})

test('a fault that nobody knows is not made', async () => {
  await using cluster = await startCluster({ primaries: 3, replicas: 0 })
  await expect(localSurroundings({ cluster, replicas: noReplicas }).makeFault('earthquake')).rejects.toThrow(
    'earthquake',
  )
})
