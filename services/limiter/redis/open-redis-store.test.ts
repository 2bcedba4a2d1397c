import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { until } from '../../platform/service.fixture.ts'
import { type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { silentStoreObserver } from './observe-run.ts'
import { noCredentials, openOrThrow, tryToOpen } from './open-store.fixture.ts'
import { freePort, redisCli, startCluster, startClusterNode, startRedis } from './redis-server.fixture.ts'
import { parseRedisAddress } from './store-address.ts'

/** Whether a bucket of 3 grants exactly 3. */
const counts = async (store: BucketStore) => {
  const group = `s:api:${randomUUID()}` as GroupKey
  const rule = { capacityTokens: 3, refillTokens: 1, periodS: 3600 }
  const outcomes = []
  for (let index = 0; index < 5; index += 1)
    outcomes.push(
      await store.take({ cost: 1, buckets: [{ ...bucketRef(group, 'k' as BucketKey), rule, enforced: true }] }),
    )
  return outcomes.filter((outcome) => outcome.kind === 'counted' && outcome.granted).length === 3
}

const expectToCount = async (opened: Awaited<ReturnType<typeof tryToOpen>>) => {
  if (!opened.ok) throw new Error(opened.fault)
  await using store = opened.store
  expect(await counts(store)).toBe(true)
}

const folder = mkdtempSync(join(tmpdir(), 'weir-tls-'))
afterAll(() => execFileSync('rm', ['-rf', folder]))

/** A CA, and a server's and a client's certificate of it. */
const makeCertificates = () => {
  const at = (name: string) => join(folder, name)
  const openssl = (...options: readonly string[]) => execFileSync('openssl', options, { stdio: 'ignore' })
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=test CA',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.crt'),
  )
  writeFileSync(at('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost')
  for (const name of ['server', 'client']) {
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.csr`),
    )
    openssl(
      'x509',
      '-req',
      '-days',
      '1',
      '-in',
      at(`${name}.csr`),
      '-CA',
      at('ca.crt'),
      '-CAkey',
      at('ca.key'),
      '-CAcreateserial',
      '-extfile',
      at('names'),
      '-out',
      at(`${name}.crt`),
    )
  }
  const read = (name: string) => readFileSync(at(name), 'utf8')
  return {
    at,
    credentials: { ca: read('ca.crt'), cert: read('client.crt'), key: read('client.key') },
    /** What makes a server listen with TLS, and where. */
    serve: async () => {
      const port = await freePort()
      const files = ['--tls-cert-file', at('server.crt'), '--tls-key-file', at('server.key')]
      return { port, options: ['--tls-port', `${port}`, ...files, '--tls-ca-cert-file', at('ca.crt')] }
    },
    cli: ['--tls', '--cacert', at('ca.crt'), '--cert', at('client.crt'), '--key', at('client.key')],
  }
}

const tls = makeCertificates()

/** What the README says that a user needs. */
const COMMANDS = '+evalsha +eval +get +set +time +info +ping +cluster|slots +cluster|info +client|setname'
const RIGHTS = ['~weir:*', ...COMMANDS.split(' ')]
const USER = ['--user', 'weir', 'on', '>secret', ...RIGHTS]

describe('LIMITER_STORE may name', () => {
  test('a single Redis with a user and a password; a wrong password is a fault', async () => {
    await using redis = await startRedis(...USER)
    await expectToCount(
      await tryToOpen(`redis://weir@127.0.0.1:${redis.port}`, {
        credentials: { ...noCredentials, password: 'secret' },
      }),
    )
    expect(
      await tryToOpen(`redis://weir@127.0.0.1:${redis.port}`, { credentials: { ...noCredentials, password: 'wrong' } }),
    ).toMatchObject({
      ok: false,
      fault: expect.stringMatching(/WRONGPASS/),
    })
  })

  test('a Unix socket', async () => {
    const path = join(folder, 'redis.sock')
    await using _redis = await startRedis('--unixsocket', path)
    await expectToCount(await tryToOpen(`redis+unix://${path}`))
  })

  test('a Redis that wants TLS and a client certificate; without one, or with an unknown CA, there is a fault', async () => {
    const { options, port: tlsPort } = await tls.serve()
    const { ca, cert, key } = tls.credentials
    await using _redis = await startRedis(...options)
    await expectToCount(
      await tryToOpen(`rediss://127.0.0.1:${tlsPort}`, { credentials: { ...noCredentials, ca, cert, key } }),
    )
    expect(await tryToOpen(`rediss://127.0.0.1:${tlsPort}`, { credentials: { ...noCredentials, ca } })).toMatchObject({
      ok: false,
    })
    expect(
      await tryToOpen(`rediss://127.0.0.1:${tlsPort}`, { credentials: { ...noCredentials, cert, key } }),
    ).toMatchObject({ ok: false })
  })

  describe('Sentinels, which say where the primary is', () => {
    const startSentinel = async (port: number, ...lines: readonly string[]) => {
      const configuration = join(folder, `sentinel-${port}.conf`)
      writeFileSync(configuration, [`sentinel monitor weir 127.0.0.1 ${port} 1`, ...lines, ''].join('\n'))
      return startRedis.sentinel(configuration)
    }

    test('also after it has changed', async () => {
      await using primary = await startRedis()
      await using replica = await startRedis('--replicaof', '127.0.0.1', `${primary.port}`)
      await until(() => redisCli(replica.port, 'INFO', 'replication').includes('master_link_status:up'))
      await using sentinel = await startSentinel(primary.port, 'sentinel down-after-milliseconds weir 500')
      await until(() => redisCli(sentinel.port, 'SENTINEL', 'replicas', 'weir').includes(`${replica.port}`))
      const opened = await tryToOpen(`redis-sentinel://127.0.0.1:${sentinel.port}/weir`)
      if (!opened.ok) throw new Error(opened.fault)
      await using store = opened.store
      expect(await counts(store)).toBe(true)
      // Only once the Sentinel knows the replica well enough.
      await until(() => redisCli(sentinel.port, 'SENTINEL', 'FAILOVER', 'weir') === 'OK')
      await until(() => redisCli(replica.port, 'ROLE').startsWith('master'))
      await until(async () => counts(store))
    }, 60_000)

    test('and have a user and a password of their own, as the server has', async () => {
      await using primary = await startRedis(...USER)
      await using sentinel = await startSentinel(
        primary.port,
        'user watcher on >guarded +@all',
        'user default on nopass -@all +ping',
      )
      const address = `redis-sentinel://weir@127.0.0.1:${sentinel.port}/weir`
      const open = (sentinelPassword: string, password: string) =>
        tryToOpen(address, {
          credentials: { ...noCredentials, password, sentinelUser: 'watcher', sentinelPassword },
        })
      await expectToCount(await open('guarded', 'secret'))
      expect(await open('guarded', 'wrong')).toMatchObject({ ok: false, fault: expect.stringContaining('WRONGPASS') })
      expect(await open('wrong', 'secret')).toMatchObject({ ok: false, fault: expect.stringContaining('WRONGPASS') })
    }, 60_000)

    test('over TLS, as the server does', async () => {
      const { options, port } = await tls.serve()
      await using _primary = await startRedis(...options)
      const sentinelSide = await tls.serve()
      // A Sentinel's own way to the server is that of a replica.
      const watching = ['--tls-replication', 'yes', '--tls-client-cert-file', tls.at('client.crt')]
      await using _sentinel = await startSentinel(
        port,
        ...[...sentinelSide.options, ...watching, '--tls-client-key-file', tls.at('client.key')]
          .join(' ')
          .split('--')
          .filter((line) => line !== ''),
      )
      // That port knows no plain connections.
      await expectToCount(
        await tryToOpen(`rediss-sentinel://127.0.0.1:${sentinelSide.port}/weir`, {
          credentials: { ...noCredentials, ...tls.credentials },
        }),
      )
    }, 60_000)
  })

  test('a cluster over TLS, on which limiters follow redirections', async () => {
    await using stack = new AsyncDisposableStack()
    const ports: number[] = []
    for (let index = 0; index < 3; index += 1) {
      const { options, port } = await tls.serve()
      ports.push(port)
      stack.use(await startClusterNode('redis-server', '--tls-cluster', 'yes', ...options))
    }
    const [first = 0] = ports
    const redisCliOverTls = (...command: readonly string[]) =>
      execFileSync('redis-cli', [...tls.cli, ...command], { encoding: 'utf8' })
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    redisCliOverTls('--cluster', 'create', ...addresses, '--cluster-yes')
    await until(() => ports.every((port) => redisCliOverTls('-p', `${port}`, 'CLUSTER', 'INFO').includes('state:ok')))
    const open = (scheme: string) =>
      tryToOpen(`${scheme}://127.0.0.1:${first}`, { credentials: { ...noCredentials, ...tls.credentials } })
    const opened = await open('rediss-cluster')
    if (!opened.ok) throw new Error(opened.fault)
    await using store = opened.store
    expect(await Promise.all(Array.from({ length: 50 }, () => counts(store)))).not.toContain(false)
    for (const port of ports)
      expect(redisCliOverTls('-p', `${port}`, 'INFO', 'commandstats')).toContain('cmdstat_evalsha')
    expect(await open('redis-cluster')).toMatchObject({ ok: false })
  }, 60_000)

  test('a cluster with a user and a password', async () => {
    await using cluster = await startCluster({ primaries: 3, replicas: 0 })
    for (const { port } of cluster.nodes) {
      redisCli(port, 'ACL', 'SETUSER', 'weir', 'on', '>secret', ...RIGHTS)
      redisCli(port, 'ACL', 'SETUSER', 'default', 'off')
    }
    const address = cluster.address.replace('//', '//weir@')
    const open = (password: string) => tryToOpen(address, { credentials: { ...noCredentials, password } })
    const opened = await open('secret')
    if (!opened.ok) throw new Error(opened.fault)
    await using store = opened.store
    expect(await Promise.all(Array.from({ length: 50 }, () => counts(store)))).not.toContain(false)
    expect(await open('wrong')).toMatchObject({ ok: false, fault: expect.stringContaining('WRONGPASS') })
  }, 60_000)

  test('a cluster, by any of its nodes', async () => {
    await using cluster = await startCluster({ primaries: 3, replicas: 0 })
    await expectToCount(await tryToOpen(`redis-cluster://127.0.0.1:${cluster.nodes[2]?.port}`))
  })
})

test('a cluster that is not up yet is waited for', async () => {
  // With a slot that is nobody's it is not up, and says so; it knows its own address.
  const options = ['--cluster-require-full-coverage', 'yes', '--cluster-announce-ip', '127.0.0.1']
  await using node = await startClusterNode('redis-server', ...options)
  redisCli(node.port, 'CLUSTER', 'ADDSLOTSRANGE', '0', '16382')
  const opening = tryToOpen(`redis-cluster://127.0.0.1:${node.port}`)
  await until(() => redisCli(node.port, 'INFO', 'commandstats').includes('cmdstat_cluster|info'))
  redisCli(node.port, 'CLUSTER', 'ADDSLOTS', '16383')
  await expectToCount(await opening)
})

test('a lone node of a cluster, addressed as one server, runs no two slots in one call', async () => {
  await using redis = await startRedis('--cluster-enabled', 'yes')
  redisCli(redis.port, 'CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(() => redisCli(redis.port, 'CLUSTER', 'INFO').includes('cluster_state:ok'))
  const opened = await tryToOpen(`redis://127.0.0.1:${redis.port}`)
  if (!opened.ok) throw new Error(opened.fault)
  await using store = opened.store
  const counted = await Promise.all(Array.from({ length: 100 }, () => counts(store)))
  expect(counted.filter((isRight) => isRight)).toHaveLength(100)
})

describe('at its start a limiter', () => {
  test('refuses a Redis whose limiters use another number of shards, and says both', async () => {
    await using redis = await startRedis()
    await expectToCount(await tryToOpen(`redis://127.0.0.1:${redis.port}`, { shardCount: 64 }))
    expect(await tryToOpen(`redis://127.0.0.1:${redis.port}`, { shardCount: 32 })).toEqual({
      ok: false,
      fault: expect.stringMatching(/LIMITER_SHARDS is 32.* 64/),
    })
  })

  test('refuses a Redis whose limiters spread subjects by another secret, or by one or none', async () => {
    await using plain = await startRedis()
    await using keyed = await startRedis()
    const open = ({ port }: typeof plain, shardSecret?: string) =>
      tryToOpen(`redis://127.0.0.1:${port}`, { shardSecret })
    await expectToCount(await open(plain))
    await expectToCount(await open(keyed, 'a'))
    await expectToCount(await open(keyed, 'a'))
    const faultOf = (fault: RegExp) => ({ ok: false, fault: expect.stringMatching(fault) })
    expect(await open(plain, 'a')).toEqual(faultOf(/^LIMITER_SHARD_SECRET_FILE is set, .* none: unset it/))
    expect(await open(keyed, 'b')).toEqual(
      faultOf(/^LIMITER_SHARD_SECRET_FILE is set, .* another, of fingerprint \w{16} \(this one's is \w{16}\)/),
    )
    expect(await open(keyed)).toEqual(
      faultOf(/^LIMITER_SHARD_SECRET_FILE is not set, .* with a secret, of fingerprint \w{16}: set it to theirs$/),
    )
  })

  test.each([
    [['SET', 'weir:meta', ''], '""'],
    [['SET', 'weir:meta', '64'], '"64"'],
    [['RPUSH', 'weir:meta', 'shards=64'], 'no string'],
  ])('refuses a Redis in which somebody else has written: %j', async (command, found) => {
    await using redis = await startRedis()
    redisCli(redis.port, ...command)
    expect(await tryToOpen(`redis://127.0.0.1:${redis.port}`)).toEqual({
      ok: false,
      fault: expect.stringMatching(new RegExp(`^the key weir:meta .* is ${found}, which no limiter .* delete the key`)),
    })
  })

  test('warns about an eviction policy that forgets drained buckets first', async () => {
    await using redis = await startRedis('--maxmemory-policy', 'allkeys-lru')
    const warned = await tryToOpen(`redis://127.0.0.1:${redis.port}`)
    expect(warned).toMatchObject({ ok: true, warnings: [expect.stringContaining('allkeys-lru')] })
    if (warned.ok) await warned.store[Symbol.asyncDispose]()
    redisCli(redis.port, 'CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl')
    const quiet = await tryToOpen(`redis://127.0.0.1:${redis.port}`)
    expect(quiet).toMatchObject({ ok: true, warnings: [] })
    if (quiet.ok) await quiet.store[Symbol.asyncDispose]()
  })

  test('says that nobody answers', async () => {
    expect(await tryToOpen('redis://127.0.0.1:1')).toMatchObject({
      ok: false,
      fault: expect.stringContaining('cannot connect'),
    })
  })
})

describe('a Redis that is full', () => {
  const rule = { capacityTokens: 3, refillTokens: 1, periodS: 3600 }
  const take = (store: BucketStore, subject: string, cost: number) =>
    store.take({
      cost,
      buckets: [{ ...bucketRef(`s:api:${subject}` as GroupKey, 'k' as BucketKey), rule, enforced: true }],
    })
  const fill = (port: number) => {
    const used = Number(/^used_memory:(\d+)/m.exec(redisCli(port, 'INFO', 'memory'))?.[1])
    redisCli(port, 'CONFIG', 'SET', 'maxmemory', `${used + 300_000}`)
  }

  test('and evicts nothing charges nobody: the store is away, says why, still tells what it holds, and lets a limiter start', async () => {
    await using redis = await startRedis('--maxmemory-policy', 'noeviction')
    const failures: string[] = []
    const opened = await tryToOpen(`redis://127.0.0.1:${redis.port}`, {
      observer: { ...silentStoreObserver, failed: (error) => failures.push(error.message) },
    })
    if (!opened.ok) throw new Error(opened.fault)
    await using store = opened.store
    await take(store, 'known', 3)
    fill(redis.port)
    const outcomes = []
    for (let index = 0; index < 3_000; index += 1) outcomes.push(await take(store, `new-${index}`, 1))
    expect(outcomes.at(-1)).toMatchObject({ kind: 'unavailable' })
    expect(failures.at(-1)).toContain('OOM')
    expect(await take(store, 'known', 0)).toMatchObject({ kind: 'counted' })
    await using beside = await openOrThrow(`redis://127.0.0.1:${redis.port}`)
    expect(await take(beside, 'known', 0)).toMatchObject({ kind: 'counted' })
  })

  test('and evicts by volatile-ttl forgets passers-by and keeps the drained', async () => {
    await using redis = await startRedis('--maxmemory-policy', 'volatile-ttl')
    const opened = await tryToOpen(`redis://127.0.0.1:${redis.port}`)
    if (!opened.ok) throw new Error(opened.fault)
    await using store = opened.store
    for (let index = 0; index < 500; index += 1) await take(store, `drained-${index}`, 3)
    fill(redis.port)
    for (let index = 0; index < 10_000; index += 1) await take(store, `passer-by-${index}`, 1)
    let kept = 0
    for (let index = 0; index < 500; index += 1) {
      const outcome = await take(store, `drained-${index}`, 1)
      if (outcome.kind === 'counted' && !outcome.granted) kept += 1
    }
    expect(Number(/^evicted_keys:(\d+)/m.exec(redisCli(redis.port, 'INFO', 'stats'))?.[1])).toBeGreaterThan(1_000)
    expect(kept).toBe(500)
  })
})

test.each([
  '',
  'memory',
  'redis://',
  'redis://a:b@host',
  'http://host',
  'redis://host:0',
  'redis://host:6379/x',
  'redis-cluster://a,b/0',
  'redis-sentinel://host',
  'rediss-sentinel://host',
  'redis-sentinel://user:password@host/name',
  'redis+unix://relative',
])('%j is no address of a store', (text) => {
  expect(parseRedisAddress(text)).toBeUndefined()
})
