// npm run key -- DOMAIN SUBJECT, or DOMAIN --policy POLICY [VALUE …] for one that counts across subjects: prints the key of its buckets in Redis.
// Reads LIMITER_SHARDS and LIMITER_SHARD_SECRET_FILE as the limiter does; asks nobody.
import { readFileSync } from 'node:fs'
import { domainName } from '../contract/check.ts'
import { policyName } from '../contract/decision.ts'
import { optional, path, readSettings, wholeNumber, withDefault } from '../platform/settings.ts'
import { crossSubjectGroup, subjectGroup } from './core/key.ts'
import { createShards } from './redis/shards.ts'

const USAGE = 'usage: npm run key -- DOMAIN SUBJECT | DOMAIN --policy POLICY [VALUE …]'

const groupOf = ([domain, ...rest]: readonly string[]) => {
  if (domain === undefined) return undefined
  const [first, second, ...values] = rest
  if (first === '--policy' && second !== undefined)
    return crossSubjectGroup(domainName(domain), policyName(second), values)
  return first !== undefined && rest.length === 1 ? subjectGroup(domainName(domain), first) : undefined
}

const group = groupOf(process.argv.slice(2))
const read = readSettings(process.env, {
  LIMITER_SHARDS: withDefault(wholeNumber(1, 1024), 64),
  LIMITER_SHARD_SECRET_FILE: optional(path),
})
const faults = [...(group === undefined ? [USAGE] : []), ...(read.ok ? [] : read.faults)]
if (group !== undefined && read.ok) {
  const { LIMITER_SHARDS: count, LIMITER_SHARD_SECRET_FILE: file } = read.settings
  const secret = file === undefined ? undefined : readFileSync(file, 'utf8').trim()
  process.stdout.write(`${createShards(count, count, secret).place(group).key}\n`)
}
process.stderr.write(faults.map((fault) => `${fault}\n`).join(''))
process.exitCode = faults.length === 0 ? 0 : 1
