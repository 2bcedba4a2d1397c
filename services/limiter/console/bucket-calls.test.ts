import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { createLimiter } from '../core/limiter.ts'
import { createMemoryStore } from '../core/memory-store.ts'
import { silentObserver } from '../core/observer.ts'
import type { BucketStore } from '../core/store.ts'
import { bucketCalls } from './bucket-calls.ts'

const TOKEN = 'Bearer open sesame'

const open = ({ store, withAdmin = true }: { readonly store?: BucketStore; readonly withAdmin?: boolean } = {}) => {
  const set = {
    domain: domainName('api'),
    subject: 'client',
    policies: [
      {
        kind: 'counting',
        name: policyName('any'),
        conditions: [],
        by: ['client'],
        rule: { capacityTokens: 10, refillTokens: 1, periodS: 3_600 },
        overrides: [],
        mode: 'enforce',
        onStoreFailure: 'share',
      },
    ],
  } as const
  const memory = createMemoryStore({ nowUs: () => 1_700_000_000_000_000 })
  const limiter = createLimiter({
    policies: () => new Map([[set.domain, set]]),
    store: store ?? memory,
    localStore: memory,
    observer: silentObserver,
  })
  const logged: { readonly result: string }[] = []
  const admin = {
    carriesToken: async (sent: string | undefined) => sent === TOKEN,
    log: (call: { readonly result: string }) => logged.push(call),
  }
  const calls = bucketCalls({ limiter, admin: withAdmin ? admin : undefined })
  const ask = (name: keyof typeof calls, body: unknown, authorization?: string) =>
    calls[name].post({ body, authorization, peer: '127.0.0.1:1' })
  return { limiter, ask, logged }
}

const question = { domain: 'api', attributes: { client: 'a' } }
const check = { domain: domainName('api'), attributes: new Map([['client', 'a']]), cost: 10 }

test('a look shows what is left and takes nothing; with the token the bucket is full again, and both ends are told', async () => {
  const { limiter, ask, logged } = open()
  await limiter.shouldAllow(check)
  for (let looked = 0; looked < 2; looked += 1) {
    const page = await ask('/console/peek', question)
    expect(JSON.parse(page.body)).toMatchObject({ quotas: [{ policy: 'any', quota: { remaining: 0, limit: 10 } }] })
  }
  for (const sent of [undefined, '', 'open sesame', 'Bearer open sesame '])
    expect(await ask('/console/reset', question, sent)).toMatchObject({ status: 401 })
  expect(await limiter.shouldAllow(check)).toMatchObject({ answer: { decision: { verdict: 'deny' } } })
  expect(JSON.parse((await ask('/console/reset', question, TOKEN)).body)).toEqual({ policies: ['any'] })
  expect(await limiter.shouldAllow(check)).toMatchObject({ answer: { decision: { verdict: 'allow' } } })
  expect(logged.map(({ result }) => result)).toEqual([...Array(4).fill('unauthenticated'), 'done'])
  expect(logged.at(-1)).toMatchObject({ method: 'Reset', asked: question, policies: ['any'] })
})

test('without a token in the limiter nobody resets, whatever is sent', async () => {
  const { ask } = open({ withAdmin: false })
  expect(await ask('/console/reset', question, 'Bearer undefined')).toMatchObject({ status: 403 })
})

test.each([
  [undefined, 'Send'],
  [[], 'Send'],
  [{ domain: 'api', attributes: { client: 1 } }, 'Send'],
  [{ domain: 'api', attributes: {} }, 'attributes.client is missing'],
  [{ domain: 'shop', attributes: { client: 'a' } }, 'known: api'],
])('a question that says too little or nonsense is answered with what is wrong: %j', async (body, problem) => {
  const { ask } = open()
  for (const name of ['/console/peek', '/console/reset'] as const)
    expect(await ask(name, body, TOKEN)).toMatchObject({ status: 400, body: expect.stringContaining(problem) })
})

test('at most so many questions go to the store at one time', async () => {
  const never: BucketStore = { take: () => new Promise(() => {}), reset: () => new Promise(() => {}) }
  const { ask } = open({ store: never })
  for (let asked = 0; asked < 16; asked += 1) void ask('/console/peek', question)
  expect(await ask('/console/peek', question)).toMatchObject({ status: 503 })
})
