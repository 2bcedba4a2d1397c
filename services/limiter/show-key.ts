// npm run key -- DOMAIN SUBJECT, or DOMAIN --policy POLICY [VALUE …] for one that counts across subjects: prints the key of its buckets in Redis.
// Reads LIMITER_SHARDS and LIMITER_SHARD_SECRET_FILE as the limiter does, and refuses what it refuses, with exit code 2; asks nobody.
import { parseCheck } from '../contract/check.ts'
import { policyName } from '../contract/decision.ts'
import { optional, path, readSettings, wholeNumber, withDefault } from '../platform/settings.ts'
import { crossSubjectGroup, subjectGroup } from './core/key.ts'
import type { GroupKey } from './core/store.ts'
import { POLICY_NAME } from './policies/schema.ts'
import { createShards } from './redis/shards.ts'
import { readShardSecret } from './shard-secret.ts'

const USAGE = 'usage: npm run key -- DOMAIN SUBJECT | DOMAIN --policy POLICY [VALUE …]'

type MadeGroup = { readonly ok: true; readonly group: GroupKey } | { readonly ok: false; readonly fault: string }

const refused = (fault: string) => ({ ok: false, fault }) as const

const groupOf = ([name, first, ...rest]: readonly string[]): MadeGroup => {
  if (name === undefined || first === undefined) return refused(USAGE)
  if (first !== '--policy') {
    if (first === '' || rest.length > 0) return refused(USAGE)
    const read = readDomain(name, [first])
    return read.ok ? { ok: true, group: subjectGroup(read.domain, first) } : read
  }
  const [policy, ...values] = rest
  if (policy === undefined) return refused(USAGE)
  if (!POLICY_NAME.test(policy)) return refused(`the limiter has no policy ${JSON.stringify(policy)}: ${USAGE}`)
  const read = readDomain(name, values)
  return read.ok ? { ok: true, group: crossSubjectGroup(read.domain, policyName(policy), values) } : read
}

/** What no check can carry is charged nowhere. */
const readDomain = (name: string, values: readonly string[]) => {
  const attributes = new Map(values.map((value, index) => [`VALUE ${index + 1}`, value]))
  const parsed = parseCheck({ domain: name, attributes, cost: 0 })
  if (parsed.ok) return { ok: true, domain: parsed.check.domain } as const
  if (parsed.fault.kind !== 'invalid') return refused(USAGE)
  const { field, problem } = parsed.fault
  return refused(field === 'domain' ? `the domain ${JSON.stringify(name)} ${problem}` : `${field} ${problem}`)
}

const made = groupOf(process.argv.slice(2))
const read = readSettings(process.env, {
  LIMITER_SHARDS: withDefault(wholeNumber(1, 1024), 64),
  LIMITER_SHARD_SECRET_FILE: optional(path),
})
const shardSecret = read.ok ? await readShardSecret(read.settings.LIMITER_SHARD_SECRET_FILE) : undefined
if (made.ok && read.ok && shardSecret?.ok) {
  const { LIMITER_SHARDS: count } = read.settings
  process.stdout.write(`${createShards(count, count, shardSecret.secret).place(made.group).key}\n`)
} else {
  const faults = [
    ...(made.ok ? [] : [made.fault]),
    ...(read.ok ? [] : read.faults),
    ...(shardSecret === undefined || shardSecret.ok ? [] : [shardSecret.fault]),
  ]
  process.stderr.write(faults.map((fault) => `${fault}\n`).join(''))
  process.exitCode = 2
}
