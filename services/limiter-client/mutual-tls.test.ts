import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Check, domainName } from '../contract/check.ts'
import { createAuthority } from '../platform/certificates.fixture.ts'
import { freePort } from '../platform/service.fixture.ts'
import { openTlsFiles } from '../platform/tls-files.ts'
import type { Asked } from './channel/question.ts'
import { startLimiterProcess } from './limiter-process.fixture.ts'
import { createStreamTransport } from './replicas/stream-transport.ts'
import { until } from './until.fixture.ts'

const check: Check = { domain: domainName('api'), attributes: new Map([['client', 'a']]), cost: 0 }

test('certificates of both ends are renewed while checks are asked, and none fails', { timeout: 120_000 }, async () => {
  using authority = createAuthority()
  const folder = await mkdtemp(join(tmpdir(), 'weir-tls-'))
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  const paths = { ca: authority.ca, cert: join(folder, 'api.pem'), key: join(folder, 'api.key') }
  const served = { cert: join(folder, 'limiter.pem'), key: join(folder, 'limiter.key') }
  const renew = async (name: string, to: { readonly cert: string; readonly key: string }) => {
    const issued = authority.issue(name)
    await copyFile(issued.key, to.key)
    await copyFile(issued.cert, to.cert)
    return issued
  }
  await renew('api', paths)
  await renew('limiter', served)

  const port = await freePort()
  await using _limiter = await startLimiterProcess(port, {
    settings: { LIMITER_TLS_CERT: served.cert, LIMITER_TLS_KEY: served.key, LIMITER_TLS_CLIENT_CA: authority.ca },
  })
  const opened = await openTlsFiles({ paths, onReload: () => {}, pollMs: 50 })
  if (!opened.ok) return expect.fail(opened.problems.join())
  using files = opened.file
  const connect = () => createStreamTransport({ address: `127.0.0.1:${port}`, tls: files.current })
  await using asking = connect()
  const outcomes: Asked[] = []
  let isDone = false
  const load = (async () => {
    while (!isDone) {
      outcomes.push(await asking.ask(check, 20_000))
      await delay(5)
    }
  })()
  await until(
    () => outcomes.length,
    (count) => count > 10,
    20_000,
  )

  const next = await renew('api', paths)
  await renew('limiter', served)
  await until(
    () => files.current().identity?.cert,
    (cert) => cert === next.certText,
    20_000,
  )
  await using renewed = connect()
  await until(
    () => renewed.ask(check, 1_000),
    ({ ok }) => ok,
    20_000,
  )
  await using stranger = createStreamTransport({ address: `127.0.0.1:${port}`, tls: () => ({ ca: authority.caText }) })
  expect(await stranger.ask(check, 2_000)).toMatchObject({ ok: false })
  isDone = true
  await load
  expect(outcomes.filter(({ ok }) => !ok)).toEqual([])
})
