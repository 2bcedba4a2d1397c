import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createAuthority } from '../platform/certificates.fixture.ts'
import { createLog } from '../platform/log.ts'
import { cutOpaque } from '../platform/opaque.ts'
import { openStore } from './open-store.ts'
import { silentStoreObserver } from './redis/observe-run.ts'
import { readLimiterSettings } from './settings.ts'

const authority = createAuthority()
const folder = mkdtempSync(join(tmpdir(), 'weir-open-store-'))
afterAll(() => {
  authority[Symbol.dispose]()
  rmSync(folder, { recursive: true })
})
const client = authority.issue('client')
const other = authority.issue('other')
const garbage = join(folder, 'garbage')
writeFileSync(garbage, 'hello')

const good = {
  LIMITER_STORE_TLS_CA: authority.ca,
  LIMITER_STORE_TLS_CERT: client.cert,
  LIMITER_STORE_TLS_KEY: client.key,
}

/** Nobody listens at the address: what is wrong with a file is told before anybody is asked. */
const faultsOf = async (files: Readonly<Record<string, string>>) => {
  const read = readLimiterSettings({
    LIMITER_POLICIES: 'policies.yaml',
    LIMITER_STORE: 'rediss://127.0.0.1:1',
    ...good,
    ...files,
  })
  if (!read.ok) throw new Error(read.faults.join())
  const observer = { ...silentStoreObserver, givenUp: () => {} }
  const log = createLog('limiter', 'error', cutOpaque)
  const opened = await openStore({ settings: read.settings, log, observer, tracing: undefined })
  return opened.ok ? [] : opened.faults
}

test.each([
  [{ LIMITER_STORE_TLS_CA: garbage }, `LIMITER_STORE_TLS_CA: ${garbage} holds no certificate in PEM`],
  [{ LIMITER_STORE_TLS_CERT: garbage }, `LIMITER_STORE_TLS_CERT: ${garbage} holds no certificate in PEM`],
  [
    { LIMITER_STORE_TLS_KEY: garbage },
    `LIMITER_STORE_TLS_KEY: ${garbage} holds no private key in PEM without a passphrase`,
  ],
  [
    { LIMITER_STORE_TLS_KEY: other.key },
    `LIMITER_STORE_TLS_KEY: ${other.key} is not the key of LIMITER_STORE_TLS_CERT: ${client.cert}`,
  ],
])('a file of TLS that cannot be used is told by its setting and its path: %j', async (files, fault) => {
  expect(await faultsOf(files)).toEqual([fault])
})

test('files of TLS that can be used are no fault, only that nobody answers is', async () => {
  expect(await faultsOf({})).toEqual([expect.stringContaining('cannot connect')])
}, 30_000)
