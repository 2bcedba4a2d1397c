import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { domainName } from '../contract/check.ts'
import { policyName } from '../contract/decision.ts'
import { crossSubjectGroup, subjectGroup } from './core/key.ts'
import { type BucketKey, bucketRef, type GroupKey } from './core/store.ts'
import { openOrThrow } from './redis/open-store.fixture.ts'
import { redisCli, startRedis } from './redis/redis-server.fixture.ts'

const program = fileURLToPath(new URL('show-key.ts', import.meta.url))
const SECRET = 'nobody can guess this'

test.each([undefined, SECRET])('the key that is shown is the one in Redis, with the secret %j', async (shardSecret) => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-key-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'secret')
  await writeFile(file, `${SECRET}\n`)
  const redis = stack.use(await startRedis())
  const store = stack.use(await openOrThrow(`redis://127.0.0.1:${redis.port}`, { shardSecret }))
  const charge = (group: GroupKey) =>
    store.take({
      cost: 1,
      buckets: [
        {
          ...bucketRef(group, 'k' as BucketKey),
          rule: { capacityTokens: 3, refillTokens: 1, periodS: 3600 },
          enforced: true,
        },
      ],
    })
  await charge(subjectGroup(domainName('api'), 'user:acme {1}'))
  await charge(crossSubjectGroup(domainName('api'), policyName('everyone'), ['GET /']))

  const env = { ...process.env, LIMITER_SHARD_SECRET_FILE: shardSecret === undefined ? '' : file }
  const show = (...command: readonly string[]) =>
    spawnSync(process.execPath, [program, ...command], { env, encoding: 'utf8' }).stdout.trim()
  const shown = [show('api', 'user:acme {1}'), show('api', '--policy', 'everyone', 'GET /')]
  expect(shown.map((key) => redisCli(redis.port, 'EXISTS', key))).toEqual(['1', '1'])
})

describe('is refused, as the limiter would, with exit code 2 and no key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-key-refused-'))
  afterAll(() => rm(folder, { recursive: true }))
  const secretFile = (text: string) => {
    const file = join(folder, `${text.length}`)
    writeFileSync(file, text)
    return file
  }
  const refusalOf = (command: readonly string[], file = '') => {
    const env = { ...process.env, LIMITER_SHARD_SECRET_FILE: file }
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...command], { env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }

  test.each([
    [['api'], /^usage: npm run key -- DOMAIN SUBJECT/],
    [['api', '--policy'], /^usage: /],
    [['api', ''], /^usage: /],
    [['api', '--policy', 'Every One'], /^the limiter has no policy "Every One"/],
    [['', 'user:acme'], /^the domain "" is empty\n$/],
    [['x'.repeat(257), 'user:acme'], /^the domain "x+" is longer than 256 bytes\n$/],
  ])('%j', (command, fault) => {
    expect(refusalOf(command)).toEqual({ status: 2, stdout: '', stderr: expect.stringMatching(fault) })
  })

  test.each([
    ['an empty secret', secretFile(''), /^LIMITER_SHARD_SECRET_FILE: \S+ holds fewer than 16 characters: .*\n$/],
    ['a short secret', secretFile('fifteen letters\n'), /^LIMITER_SHARD_SECRET_FILE: \S+ holds fewer than 16 .*\n$/],
    ['no such file', '/nowhere/secret', /^LIMITER_SHARD_SECRET_FILE: \/nowhere\/secret cannot be read: ENOENT.*\n$/],
  ])('%s', (_, file, fault) => {
    expect(refusalOf(['api', 'user:acme'], file)).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(fault),
    })
  })
})
