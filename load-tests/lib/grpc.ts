import exec from 'k6/execution'
import { Counter } from 'k6/metrics'
import grpc from 'k6/net/grpc'
import type { Rule } from '../../services/bucket/rule.ts'
import type { Verdict } from './bucket-history.ts'
import type { Start } from './prepare.ts'
import { readProcesses } from './processes.ts'
import { promised } from './promise.ts'
import { listSetting, textSetting } from './settings.ts'

/** `LIMITER_ADDRESS`: one or several by comma; callers spread over them. */
const addresses = listSetting('LIMITER_ADDRESS')
/** From where the scenario's file lies. */
const PROTO = textSetting('PROTO') ?? '../proto'
const domain = textSetting('DOMAIN') ?? 'api'
const PLAINTEXT = textSetting('LIMITER_TLS') === undefined

/** `client=user:acme,plan=pro`: what the checks say of their caller. */
const attributes = Object.fromEntries(
  listSetting('ATTRIBUTES').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
)

const client = new grpc.Client()
client.load([PROTO], 'weir/v1/rate_limit.proto')

/** As k6 turns the messages of `proto/weir/v1` into JSON: 64-bit numbers are texts. */
export type ShouldAllowResponse = {
  readonly verdict: 'ALLOW' | 'DENY'
  readonly basis: string
  readonly policy: string
  readonly quota?: {
    readonly limit: string
    readonly remaining: string
    readonly refillTokens: string
    readonly refillPeriodMs: string
  }
}

let connected = false

/** Each caller of k6 keeps one connection. */
export const connectedClient = (caller = exec.vu.idInTest) => {
  if (!connected) {
    const address = addresses[caller % Math.max(1, addresses.length)]
    if (address === undefined) return exec.test.abort('LIMITER_ADDRESS must say where the limiters listen.') as never
    client.connect(address, { plaintext: PLAINTEXT, timeout: '10s' })
    connected = true
  }
  return client
}

export const checkOf = (cost: number) => ({ domain, attributes, cost })

/** Reads the limit without spending any of it: a check that costs nothing. */
export const prepareGrpc = (): Start => {
  const answer = connectedClient(0).invoke('weir.v1.RateLimit/ShouldAllow', checkOf(0), { timeout: '10s' })
  const { quota, policy } = (answer.message ?? {}) as Partial<ShouldAllowResponse>
  if (answer.status !== grpc.StatusOK || quota === undefined || policy === undefined)
    return exec.test.abort(
      `No policy counts domain=${domain} ${JSON.stringify(attributes)}: ${JSON.stringify(answer.error ?? answer.message)}. Set ATTRIBUTES=client=…,plan=….`,
    ) as never
  const rule = ruleOf(quota)
  if (Number(quota.remaining) < rule.capacityTokens)
    exec.test.abort(
      `The bucket was not full: it held ${quota.remaining} of ${rule.capacityTokens} tokens before the run.`,
    )
  return { startMs: Date.now(), policy, rule, processes: readProcesses() }
}

const ruleOf = (quota: NonNullable<ShouldAllowResponse['quota']>): Rule => {
  const periodMs = Number(quota.refillPeriodMs)
  const scale = periodMs % 1000 === 0 ? 1 : 1000
  return {
    capacityTokens: Number(quota.limit),
    refillTokens: Number(quota.refillTokens) * scale,
    periodS: (periodMs * scale) / 1000,
  }
}

/** An answer without a count, by whichever limiter, is none of the bucket's. */
const verdictOf = (response: Partial<ShouldAllowResponse> | undefined): Verdict => {
  switch (response?.verdict) {
    case 'ALLOW':
      return 'allow'
    case 'DENY':
      return 'deny'
    case undefined:
      return 'lost'
  }
}

const withoutBucket = new Counter('answers_without_bucket')

export const onlyTheBucket = promised(
  'answers_without_bucket',
  'count==0',
  'each answer says what it rests on, and without a fault that is the bucket',
)

/** What came of a check; counts an answer that rests on anything but the shared bucket. */
export const noteBasis = (response: Partial<ShouldAllowResponse> | undefined): Verdict => {
  const verdict = verdictOf(response)
  if (verdict !== 'lost' && response?.basis !== 'BUCKET') withoutBucket.add(1)
  return verdict
}

/** One check by one call. */
export const askLimiter = () => {
  const called = connectedClient()
  const sentMs = Date.now()
  const { message } = called.invoke('weir.v1.RateLimit/ShouldAllow', checkOf(1), { timeout: '10s' })
  return { sentMs, verdict: noteBasis(message as Partial<ShouldAllowResponse> | undefined) }
}
