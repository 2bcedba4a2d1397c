// node services/limiter/verify-count.ts dns:///NAME:PORT …: spends one new bucket through every limiter of these addresses at once, and
// holds what they admit to the law of conservation. `helm test` runs it; the policy is the chart's own.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Call } from '../conservation/history.ts'
import { formatTotals, totalsOf } from '../conservation/totals.ts'
import { type Check, domainName } from '../contract/check.ts'
import { createStreamTransport } from '../limiter-client/replicas/stream-transport.ts'
import { systemNames } from '../limiter-client/replicas/system-names.ts'
import type { Transport } from '../limiter-client/replicas/transport.ts'
import { systemMonotonicClock } from '../seams/clock.ts'

const DOMAIN = 'helm-test'
/** As in the chart's policy `exact-count`. */
const rule = { capacityTokens: 200, refillTokens: 1, periodS: 3600 }
const CHECKS_PER_LIMITER = 200
const CALLERS_PER_LIMITER = 10
const DEADLINE_MS = 10_000

const addressesOf = async (target: string) => {
  const { host, port } = /^dns:\/\/\/(?<host>.+):(?<port>\d+)$/.exec(target)?.groups ?? {}
  if (host === undefined || port === undefined || tls !== undefined) return [target]
  return (await systemNames.resolve(host)).map((address) =>
    address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
  )
}

const ask = async (transport: Transport, check: Check): Promise<Call & { readonly problem: string | undefined }> => {
  const invokeUs = Math.floor(systemMonotonicClock.monotonicUs())
  const asked = await transport.ask(check, DEADLINE_MS)
  const timed = { invokeUs, responseUs: Math.ceil(systemMonotonicClock.monotonicUs()), cost: check.cost }
  if (!asked.ok) return { ...timed, verdict: 'unknown', decidedLocally: false, problem: asked.detail }
  const { verdict, basis } = asked.answer.decision
  const problem =
    basis === 'bucket' || basis === 'share' ? undefined : `the basis of a decision is ${basis}, not the bucket`
  return { ...timed, verdict, decidedLocally: basis !== 'bucket', problem }
}

/** From the files that these settings name, as the API's are; a certificate is for a name and not for an address. */
const readTls = () => {
  const read = (name: string) => {
    const path = process.env[name]
    return path === undefined ? undefined : readFileSync(path, 'utf8')
  }
  const [ca, cert, key] = ['LIMITER_TLS_CA', 'LIMITER_TLS_CERT', 'LIMITER_TLS_KEY'].map(read)
  if (ca === undefined) return undefined
  const material = cert === undefined || key === undefined ? { ca } : { ca, identity: { cert, key } }
  return () => material
}

const tls = readTls()

const spend = async (address: string, check: Check) => {
  // No attribute has this name: every check goes to whichever limiter has least to do.
  await using transport = createStreamTransport({ address, tls, affinity: 'none' })
  const calls: Awaited<ReturnType<typeof ask>>[] = []
  const caller = async () => {
    while (calls.length < CHECKS_PER_LIMITER) calls.push(await ask(transport, check))
  }
  await Promise.all(Array.from({ length: CALLERS_PER_LIMITER }, caller))
  return { address, calls }
}

const verify = async (targets: readonly string[]): Promise<readonly string[]> => {
  const addresses = (await Promise.all(targets.map(addressesOf))).flat()
  if (addresses.length === 0) return [`${targets.join(' ')} stands for no limiter`]
  const subject = `helm-test:${randomUUID()}`
  const check = { domain: domainName(DOMAIN), attributes: new Map([['client', subject]]), cost: 1 }
  const spent = await Promise.all(addresses.map((address) => spend(address, check)))
  const calls = spent.flatMap((limiter) => limiter.calls)
  const totals = totalsOf({ rule, calls, faultBound: { overTokens: 0, underTokens: 0 } })

  for (const { address, calls: own } of spent) {
    const admitted = own.filter(({ verdict }) => verdict === 'allow').length
    process.stdout.write(`${address}: ${own.length} asked, ${admitted} admitted\n`)
  }
  process.stdout.write(`\n${formatTotals([{ name: 'one bucket, all limiters', totals }])}\n\n`)
  const problems = new Set(calls.flatMap(({ problem }) => (problem === undefined ? [] : [problem])))
  return [
    ...problems,
    ...(totals.difference === 0 ? [] : [`${totals.difference} tokens outside the bounds`]),
    ...(totals.decidedLocally === 0
      ? []
      : [
          `${totals.decidedLocally} decided locally: the store did not answer within LIMITER_STORE_DEADLINE_MS (limiter.storeDeadlineMs of the chart)`,
        ]),
  ]
}

const targets = process.argv.slice(2)
const faults =
  targets.length === 0
    ? ['usage: node services/limiter/verify-count.ts dns:///NAME:PORT | HOST:PORT | unix:/PATH …']
    : await verify(targets)
process.stdout.write(faults.length === 0 ? 'exact\n' : '')
process.stderr.write(faults.map((fault) => `${fault}\n`).join(''))
process.exitCode = faults.length === 0 ? 0 : 1
