// npm run peek -- DOMAIN ATTRIBUTE=VALUE …                      what the buckets of such a request hold
// npm run reset -- DOMAIN ATTRIBUTE=VALUE … [--policy NAME]     fills them
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { address, formatAddress } from '../platform/address.ts'
import type { FileContent } from '../platform/live-file.ts'
import { optional, path, type Reader, readSettings, type Settings, withDefault } from '../platform/settings.ts'
import { parseTlsMaterial } from '../platform/tls-files.ts'
import { systemWallClock } from '../seams/clock.ts'
import { type AdminClient, type AdminTls, createAdminClient, type PeekedBucket } from './rpc/admin-client.ts'

const USAGE = `usage: npm run peek -- DOMAIN ATTRIBUTE=VALUE …
       npm run reset -- DOMAIN ATTRIBUTE=VALUE … [--policy NAME]
Give the attributes of a request, as in: npm run peek -- api client=user:acme plan=free
LIMITER_ADDRESS and LIMITER_ADMIN_TOKEN_FILE say which limiter to ask and with which token. LIMITER_TLS_CA, the authority
that signs the limiter, switches on TLS; LIMITER_TLS_CERT and LIMITER_TLS_KEY are shown to it, and LIMITER_TLS_NAME is the
name in its certificate where the address has another.`

type Command = {
  readonly name: 'peek' | 'reset'
  readonly domain: string
  readonly attributes: Readonly<Record<string, string>>
  readonly policy: string | undefined
}

const parseCommand = (argv: readonly string[]): Command | undefined => {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: { policy: { type: 'string' } },
      allowPositionals: true,
    })
    const [name, domain, ...pairs] = positionals
    if ((name !== 'peek' && name !== 'reset') || domain === undefined) return undefined
    if (!pairs.every((pair) => /^[^=]+=/.test(pair))) return undefined
    const attributes = pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
    return { name, domain, attributes: Object.fromEntries(attributes), policy: values.policy }
  } catch {
    // An option that does not exist.
    return undefined
  }
}

const hostName: Reader<string> = {
  read: (text) => (/^[\w.-]+$/.test(text) ? { ok: true, value: text } : { ok: false, expected: 'a host name' }),
}

const settingsTable = {
  LIMITER_ADDRESS: withDefault(address, { kind: 'tcp', host: '127.0.0.1', port: 50051 } as const),
  LIMITER_ADMIN_TOKEN_FILE: path,
  LIMITER_TLS_CA: optional(path),
  LIMITER_TLS_CERT: optional(path),
  LIMITER_TLS_KEY: optional(path),
  LIMITER_TLS_NAME: optional(hostName),
} as const

/** Of the caller: without the limiter's authority there is no TLS, whatever else a limiter's own environment names. */
const readTls = async (settings: Settings<typeof settingsTable>): Promise<FileContent<AdminTls | undefined>> => {
  const { LIMITER_TLS_CA: ca, LIMITER_TLS_CERT: cert, LIMITER_TLS_KEY: key, LIMITER_TLS_NAME: name } = settings
  if (ca === undefined) return { ok: true, value: undefined }
  if ((cert === undefined) !== (key === undefined))
    return { ok: false, problems: ['LIMITER_TLS_CERT and LIMITER_TLS_KEY: set both or neither'] }
  // A file that cannot be read is told as one that holds nothing.
  const read = async (file: string | undefined) =>
    file === undefined ? undefined : await readFile(file, 'utf8').catch(() => '')
  const texts = { ca: await read(ca), cert: await read(cert), key: await read(key) }
  const parsed = parseTlsMaterial(texts, { ca, cert, key }, systemWallClock)
  return parsed.ok ? { ok: true, value: { ...parsed.value, name } } : parsed
}

const run = async (): Promise<
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string }
> => {
  const command = parseCommand(process.argv.slice(2))
  if (command === undefined) return { ok: false, problem: USAGE }
  // A limiter that listens on several addresses is reached by its first.
  const [firstAddress] = (process.env['LIMITER_ADDRESS'] ?? '').split(',')
  const read = readSettings({ ...process.env, LIMITER_ADDRESS: firstAddress }, settingsTable)
  if (!read.ok) return { ok: false, problem: read.faults.join('\n') }
  const tokenFile = read.settings.LIMITER_ADMIN_TOKEN_FILE
  const token = await readFile(tokenFile, 'utf8').catch(() => undefined)
  if (token === undefined) return { ok: false, problem: `LIMITER_ADMIN_TOKEN_FILE: ${tokenFile} cannot be read` }
  const tls = await readTls(read.settings)
  if (!tls.ok) return { ok: false, problem: tls.problems.join('\n') }
  const target = formatAddress(read.settings.LIMITER_ADDRESS)
  using client = createAdminClient({ target, token: token.trim(), tls: tls.value })
  return await ask(client, command)
}

const ask = async (client: AdminClient, { name, policy, ...question }: Command) => {
  switch (name) {
    case 'peek': {
      const peeked = await client.peek(question)
      return peeked.ok ? ({ ok: true, text: describeBuckets(peeked.value) } as const) : peeked
    }
    case 'reset': {
      const reset = await client.reset(question, policy)
      const filled =
        reset.ok &&
        (reset.value.length === 0 ? 'no policy matches: nothing to fill' : `full now: ${reset.value.join(', ')}`)
      return reset.ok ? ({ ok: true, text: `${filled}\n` } as const) : reset
    }
  }
}

const describeBuckets = (buckets: readonly PeekedBucket[]) =>
  buckets.length === 0
    ? 'no policy matches: such a request is not limited\n'
    : buckets
        .map(({ policy, quota, shadow }) => {
          const refill = `${quota.refillTokens} per ${quota.refillPeriodMs / 1000} s`
          const state = `${quota.remaining} of ${quota.limit} left, full in ${quota.resetAfterMs / 1000} s, refilled by ${refill}`
          return `${policy}${shadow ? ' (shadow)' : ''}: ${state}\n`
        })
        .join('')

const done = await run()
if (done.ok) process.stdout.write(done.text)
else process.stderr.write(`${done.problem}\n`)
process.exitCode = done.ok ? 0 : 1
