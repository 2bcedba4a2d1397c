import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tamper } from './ingress.ts'
import { sources } from './replicas.ts'

/** A fault planted into a local installation on purpose, to see that a run finds it. Nothing in the services knows of these. */
export type Plant = {
  /** In words, for who asks. */
  readonly does: string
  readonly tamper?: Tamper
  readonly policies?: (text: string) => string
  /** Other settings for the n-th limiter. */
  readonly limiter?: (index: number) => Readonly<Record<string, string>>
  /** Other programs, made in the folder that is told; answers where they are. */
  readonly services?: (folder: string) => Promise<string>
  /** Faults that are said to be made and are not. */
  readonly pretends?: boolean
}

export const noPlant: Plant = { does: 'nothing' }

/** A copy of the services in which one file is another one. */
const withFile = (file: string, change: (text: string) => string) => async (folder: string) => {
  const copy = join(folder, 'services')
  await cp(sources, copy, { recursive: true })
  for (const beside of ['node_modules', 'proto', 'package.json'])
    await symlink(join(sources, '..', beside), join(folder, beside))
  const text = await readFile(join(copy, file), 'utf8')
  const changed = change(text)
  if (changed === text) throw new Error(`nothing of ${file} was changed: the plant no longer fits`)
  await writeFile(join(copy, file), changed)
  return `${copy}/`
}

/** So long is more than any deadline of an installation that is made here. */
const STANDING_MS = 13_000

/** Runs in a process before its program does. */
const preload = (code: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` })

const standing = (forMs: number, everyMs: number) =>
  `const stand = () => { const end = Date.now() + ${forMs}; while (Date.now() < end); setTimeout(stand, ${everyMs}).unref() }; setTimeout(stand, ${everyMs}).unref()`

const rewriteRetryAfter =
  (change: (seconds: number) => number): NonNullable<Tamper['answer']> =>
  (_, headers) =>
    headers['retry-after'] === undefined
      ? headers
      : { ...headers, 'retry-after': `${change(Number(headers['retry-after']))}` }

export const plants = {
  'own-buckets': {
    does: 'each limiter counts in its own memory instead of the shared store',
    limiter: () => ({ LIMITER_STORE: 'memory:' }),
  },
  'own-bucket-of-the-third': {
    does: 'the third limiter to be started, and each after it, counts in its own memory',
    limiter: (index) => (index < 2 ? {} : { LIMITER_STORE: 'memory:' }),
  },
  'not-atomic': {
    does: 'one take in five reads what was there before the last write, as without a script',
    services: withFile('limiter/redis/take.lua', (text) =>
      text
        .replace(
          "call('GET', KEYS[index])",
          "call('GET', KEYS[index] .. (fmod(call('TIME')[2], 5) == 0 and ':stale' or ''))",
        )
        .replaceAll("call('SET', ", "call('COPY', KEYS[index], KEYS[index] .. ':stale', 'REPLACE') call('SET', "),
    ),
  },
  'no-headers': {
    does: 'the ingress drops RateLimit-* and Retry-After',
    tamper: {
      answer: (_, headers) =>
        Object.fromEntries(Object.entries(headers).filter(([name]) => !/^(ratelimit|retry-after)/.test(name))),
    },
  },
  'bare-refusals': {
    does: 'the ingress drops Retry-After of refusals',
    tamper: {
      answer: (_, headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'retry-after')),
    },
  },
  'early-retry-after': {
    does: 'Retry-After says a third of the time',
    tamper: { answer: rewriteRetryAfter((seconds) => Math.max(1, Math.floor(seconds / 3))) },
  },
  'late-retry-after': {
    does: 'Retry-After says three seconds too much',
    tamper: { answer: rewriteRetryAfter((seconds) => seconds + 3) },
  },
  'one-bucket-for-all': {
    does: 'polite clients and the abuser share a bucket',
    policies: (text) => `${text
      .split('\n')
      .filter((line) => !/name: (polite|abuser)/.test(line))
      .join('\n')}
  - { name: all, by: [], capacity: 50, refill: 5/s }
`,
  },
  'standing-limiter': {
    does: `a limiter stands still for ${STANDING_MS / 1000} s, longer than its API waits, again and again`,
    limiter: (index) => (index === 0 ? preload(standing(STANDING_MS, 12_000)) : {}),
  },
  'slow-limiter': {
    does: 'a limiter stands still for 300 ms of each second',
    limiter: (index) => (index === 0 ? preload(standing(300, 700)) : {}),
  },
  'narrow-door': {
    does: 'the ingress refuses who comes while another request is under way',
    tamper: { maxUnderWay: 1 },
  },
  leak: {
    does: 'limiters keep 1 MB more each second',
    limiter: () =>
      preload('const kept = []; setInterval(() => kept.push(new Array(131072).fill(Math.random())), 1000).unref()'),
  },
  'fail-open': {
    does: 'limiters admit everybody while the store is away',
    policies: (text) => text.replaceAll('capacity:', 'onStoreFailure: allow, capacity:'),
  },
  'no-fault': { does: 'the planned faults are not made', pretends: true },
} as const satisfies Readonly<Record<string, Plant>>

export type PlantName = keyof typeof plants

export const isPlantName = (text: string): text is PlantName => Object.hasOwn(plants, text)
