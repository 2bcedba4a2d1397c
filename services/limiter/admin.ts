// npm run peek -- DOMAIN ATTRIBUTE=VALUE …                      what the buckets of such a request hold
// npm run reset -- DOMAIN ATTRIBUTE=VALUE … [--policy NAME]     fills them
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { address, formatAddress } from '../platform/address.ts'
import { path, readSettings, withDefault } from '../platform/settings.ts'
import { type AdminClient, createAdminClient, type PeekedBucket } from './rpc/admin-client.ts'

const USAGE = `usage: npm run peek -- DOMAIN ATTRIBUTE=VALUE …
       npm run reset -- DOMAIN ATTRIBUTE=VALUE … [--policy NAME]
Give the attributes of a request, as in: npm run peek -- api client=user:acme plan=free
LIMITER_ADDRESS and LIMITER_ADMIN_TOKEN_FILE say which limiter to ask and with which token.`

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

const settingsTable = {
  LIMITER_ADDRESS: withDefault(address, { kind: 'tcp', host: '127.0.0.1', port: 50051 } as const),
  LIMITER_ADMIN_TOKEN_FILE: path,
} as const

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
  using client = createAdminClient(formatAddress(read.settings.LIMITER_ADDRESS), token.trim())
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
