import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { redisCli, startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { openInstallation } from './installation.fixture.ts'

type Row = { readonly name: string; readonly type: string; readonly labels: readonly string[]; readonly of: string }

const catalogue = readFileSync(new URL('../limiter/telemetry/METRICS.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line): readonly Row[] => {
    const [name, type, labels, of] = line.split('|').slice(1, 5)
    const metric = /`(weir_\w+)`/.exec(name ?? '')?.[1]
    if (metric === undefined || type === undefined || labels === undefined || of === undefined) return []
    const named = [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)
    return [{ name: metric, type: type.trim(), labels: named, of: of.trim() }]
  })

const ofProcess = (...processes: readonly string[]) => catalogue.filter(({ of }) => processes.includes(of))

/** Every `weir_` metric of a page with the labels of its series. */
const shown = (page: string): readonly Omit<Row, 'of'>[] =>
  [...page.matchAll(/^# TYPE (weir_\w+) (\w+)$/gm)].map(([, name = '', type = '']) => ({
    name,
    type,
    labels: labelsOf(page, name),
  }))

const labelsOf = (page: string, name: string) => {
  const [, labels = ''] = new RegExp(`^${name}(?:_count)?\\{([^}]*)\\}`, 'm').exec(page) ?? []
  return [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
}

const sorted = (rows: readonly Omit<Row, 'of'>[]) =>
  rows
    .map(({ name, type, labels }) => ({ name, type, labels: labels.toSorted() }))
    .toSorted((a, b) => a.name.localeCompare(b.name))

const names = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name).toSorted()

const candidate = fileURLToPath(new URL('../../deploy/policies.yaml', import.meta.url))

const SECRET = 'client-that-no-metric-names'

test('the catalogue is what running processes show, no more and no less, and no label holds what a client sent', async () => {
  await using redis = await startRedis()
  await using onRedis = await openInstallation({ limiters: 1, store: `redis://127.0.0.1:${redis.port}` })
  await using inMemory = await openInstallation({
    limiters: 1,
    store: 'memory:',
    limiterSettings: { LIMITER_CANDIDATE_POLICIES: candidate },
  })
  for (const installation of [onRedis, inMemory])
    for (let request = 0; request < 30; request += 1)
      await installation.get(`/v1/orders?${SECRET}`, { 'x-forwarded-for': SECRET, 'user-agent': SECRET })
  const inMemoryPage = (await inMemory.limiters[0]?.page('/metrics')) ?? ''
  // Series with labels that only a fault has.
  await inMemory.limiters[0]?.service.stop('SIGKILL')
  await inMemory.get('/v1/orders')
  const [limiter] = onRedis.limiters
  if (limiter === undefined) throw new Error('no limiter')
  const pages = {
    onRedis: await limiter.page('/metrics'),
    api: await inMemory.api.page('/metrics'),
  }
  expect(sorted(shown(pages.onRedis))).toEqual(sorted(ofProcess('limiter', 'limiter on Redis')))
  expect(sorted(shown(pages.api))).toEqual(sorted(ofProcess('api')))
  expect(names(shown(inMemoryPage))).toEqual(
    names(ofProcess('limiter', 'limiter in memory', 'limiter with a candidate')),
  )
  for (const page of Object.values(pages)) expect(page).not.toContain(SECRET)
  // The client has nothing to hide from `/top`, where it is named, and its bucket is there.
  expect(redisCli(redis.port, 'DBSIZE')).not.toBe('0')
  expect(await limiter.page('/top')).toContain('ip:127.0.0.1')
}, 180_000)
