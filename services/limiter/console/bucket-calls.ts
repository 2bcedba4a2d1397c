import { type Check, type CheckFault, parseCheck } from '../../contract/check.ts'
import { type AdminCall, type AdminPage, json, text } from '../../platform/admin-server.ts'
import type { AdminCallLog } from '../core/admin-call-log.ts'
import { createCallsUnderWay } from '../core/calls-under-way.ts'
import type { Limiter } from '../core/limiter.ts'

/** A person asks now and then; each question goes to the store. */
const MAX_UNDER_WAY = 16

type Asked = { readonly check: Check; readonly policy: string | undefined }
type AskedOr = ({ readonly ok: true } & Asked) | { readonly ok: false; readonly problem: string }

export type ConsoleAdmin = {
  readonly carriesToken: (authorization: string | undefined) => Promise<boolean>
  readonly log: AdminCallLog
}

type Options = {
  readonly limiter: Pick<Limiter, 'peek' | 'reset'>
  /** Absent: nobody can reset. */
  readonly admin: ConsoleAdmin | undefined
}

/** What the console asks of buckets. To look at one needs no token and charges nothing; to fill it does. */
export const bucketCalls = ({ limiter, admin }: Options) => {
  const underWay = createCallsUnderWay(MAX_UNDER_WAY)
  const bounded = (call: (asked: AdminCall) => Promise<AdminPage>) => ({
    post: async (asked: AdminCall) => {
      if (!underWay.enter()) return text(503, 'Too many questions at one time: ask again')
      try {
        return await call(asked)
      } finally {
        underWay.leave()
      }
    },
  })

  const peek = async ({ body }: AdminCall) => {
    const asked = readAsked(body)
    if (!asked.ok) return text(400, asked.problem)
    const peeked = await limiter.peek(asked.check)
    return peeked.ok ? json({ quotas: peeked.quotas }) : faultPage(peeked.fault)
  }

  const reset = async ({ body, authorization, peer }: AdminCall) => {
    if (admin === undefined)
      return text(403, 'Resets are switched off: start the limiter with LIMITER_ADMIN_TOKEN_FILE')
    if (!(await admin.carriesToken(authorization))) {
      admin.log({ method: 'Reset', peer, result: 'unauthenticated' })
      return text(401, 'This is not the token of LIMITER_ADMIN_TOKEN_FILE')
    }
    const asked = readAsked(body)
    if (!asked.ok) return text(400, asked.problem)
    const done = await limiter.reset(asked.check, asked.policy)
    const { check, policy } = asked
    const told = { domain: check.domain, attributes: Object.fromEntries(check.attributes), policy }
    admin.log({
      method: 'Reset',
      peer,
      result: done.ok ? 'done' : done.fault.kind,
      asked: told,
      ...(done.ok && { policies: done.policies }),
    })
    return done.ok ? json({ policies: done.policies }) : faultPage(done.fault)
  }

  return { '/console/peek': bounded(peek), '/console/reset': bounded(reset) }
}

const readAsked = (body: unknown): AskedOr => {
  if (!isRecord(body) || typeof body['domain'] !== 'string' || !isTexts(body['attributes']))
    return { ok: false, problem: 'Send {"domain": "…", "attributes": {"name": "value"}}' }
  const parsed = parseCheck({ domain: body['domain'], attributes: body['attributes'], cost: 0 })
  if (!parsed.ok) return { ok: false, problem: faultText(parsed.fault) }
  const policy = typeof body['policy'] === 'string' && body['policy'] !== '' ? body['policy'] : undefined
  return { ok: true, check: parsed.check, policy }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every((one) => typeof one === 'string')

type Fault = CheckFault | { readonly kind: 'store_unavailable' }

const faultPage = (fault: Fault) => text(fault.kind === 'store_unavailable' ? 503 : 400, faultText(fault))

const faultText = (fault: Fault) => {
  switch (fault.kind) {
    case 'store_unavailable':
      return 'The store does not answer'
    case 'invalid':
      return `${fault.field} ${fault.problem}`
    case 'unknown_domain':
      return `There is no domain ${fault.domain}; known: ${fault.knownDomains.join(', ')}`
  }
}
