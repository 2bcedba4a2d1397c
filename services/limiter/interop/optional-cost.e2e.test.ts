import { status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { buildGoClient, buildPythonClient } from './clients.fixture.ts'
import { startLimiter } from './limiter-process.fixture.ts'

const BUILD_TIMEOUT_MS = 600_000

/** Built by the first test that asks for it. A hook would do, but what is missing would then skip the tests instead of failing them. */
const once = <Client>(build: () => Promise<Client>) => {
  let client: Promise<Client> | undefined
  return () => {
    client ??= build()
    return client
  }
}
const python = once(buildPythonClient)
const go = once(buildGoClient)

const policies = `
domain: api
subject: client
policies:
  - { name: per-client, by: [client], capacity: 10, refill: 1/h }
`

const ask = (cost?: number) => ({ domain: 'api', attributes: { client: 'a' }, ...(cost !== undefined && { cost }) })

describe.each([
  { language: 'Python', caller: python },
  { language: 'Go', caller: async () => (await go()).shouldAllow },
])('asked from $language', { timeout: BUILD_TIMEOUT_MS }, ({ caller }) => {
  test('an absent cost charges 1, an explicit 0 charges nothing, 3 charges 3', async () => {
    const shouldAllow = await caller()
    await using limiter = await startLimiter(policies)
    const answers = await shouldAllow(limiter.address, [ask(), ask(0), ask(3), ask(0), ask()])
    const allowed = (remaining: string) => ({
      code: status.OK,
      response: { verdict: 'ALLOW', basis: 'BUCKET', policy: 'per-client', quota: { limit: '10', remaining } },
    })
    expect(answers).toMatchObject(['9', '9', '6', '6', '5'].map(allowed))
  })

  test('a refusal is an answer: status OK, the verdict DENY, the quota and the wait beside it', async () => {
    const shouldAllow = await caller()
    await using limiter = await startLimiter(policies)
    const [, refused] = await shouldAllow(limiter.address, [ask(4), ask(7)])
    expect(refused).toMatchObject({
      code: status.OK,
      response: {
        verdict: 'DENY',
        basis: 'BUCKET',
        policy: 'per-client',
        quota: { limit: '10', remaining: '6', refillTokens: '1', refillPeriodMs: '3600000' },
      },
    })
    const waitMs = Number(refused?.response?.retryAfterMs)
    expect(waitMs).toBeGreaterThan(3_590_000)
    expect(waitMs).toBeLessThanOrEqual(3_600_000)
  })

  test('the status says what is wrong with a question: the field at fault, or the domains that are known', async () => {
    const shouldAllow = await caller()
    await using limiter = await startLimiter(policies)
    const { domain, attributes } = ask()
    expect(
      await shouldAllow(limiter.address, [
        { attributes },
        { domain, attributes: { plan: 'free' } },
        { domain: 'shop', attributes },
      ]),
    ).toEqual([
      { code: status.INVALID_ARGUMENT, details: expect.stringMatching(/^domain /) },
      { code: status.INVALID_ARGUMENT, details: expect.stringMatching(/^attributes\.client /) },
      { code: status.NOT_FOUND, details: expect.stringMatching(/"shop".*known: api$/) },
    ])
  })
})

describe("what Go's tools use", { timeout: BUILD_TIMEOUT_MS }, () => {
  test('grpc.health.v1 answers for the whole and for each component', async () => {
    const { health } = await go()
    await using limiter = await startLimiter(policies)
    expect(await health(limiter.address, ['', 'weir.v1.RateLimit', 'weir.v1.Unknown'])).toMatchObject([
      { code: status.OK, response: { status: 'SERVING' } },
      { code: status.OK, response: { status: 'SERVING' } },
      { code: status.NOT_FOUND },
    ])
  })

  test('grpc.reflection.v1 describes the interface as its file does', async () => {
    const { services, describe: describeMessages } = await go()
    await using limiter = await startLimiter(policies)
    expect(await services(limiter.address)).toEqual(
      expect.arrayContaining(['weir.v1.RateLimit', 'grpc.health.v1.Health']),
    )
    const [request, response] = await describeMessages(limiter.address, [
      'weir.v1.ShouldAllowRequest',
      'weir.v1.ShouldAllowResponse',
    ])
    expect(request).toEqual(
      expect.arrayContaining([
        { name: 'domain', number: 1, kind: 'string', isMap: false, optional: false },
        { name: 'attributes', number: 2, kind: 'message', isMap: true, optional: false },
        { name: 'cost', number: 3, kind: 'uint32', isMap: false, optional: true },
      ]),
    )
    expect(response).toContainEqual({
      name: 'retry_after_ms',
      number: 5,
      kind: 'uint64',
      isMap: false,
      optional: true,
    })
  })
})
