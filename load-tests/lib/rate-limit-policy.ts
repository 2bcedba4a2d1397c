import type { Rule } from '../../services/bucket/rule.ts'

/** What the headers of a response say of the bucket that it was charged to. */
export type AnnouncedQuota = { readonly rule: Rule; readonly policy: string; readonly remaining: number }

type Headers = Readonly<Record<string, string | undefined>>

/** Header names as k6 has them: in canonical case. Undefined where nobody counted. */
export const announcedQuota = (headers: Headers): AnnouncedQuota | undefined => {
  const policy = parsePolicy(headers['Ratelimit-Policy'] ?? '')
  const remaining = wholeNumber(headers['Ratelimit-Remaining'])
  return policy === undefined || remaining === undefined ? undefined : { ...policy, remaining }
}

/**
 * `"free";q=60;w=12;refill=5;period=1`: the first policy of the list. Where an installation does not say the refill, the window is
 * the time in which an empty bucket fills.
 */
const parsePolicy = (header: string): { readonly policy: string; readonly rule: Rule } | undefined => {
  const [, policy, parameters] = /^"((?:[^"\\]|\\.)*)"((?:;[^,]*)?)/.exec(header) ?? []
  if (policy === undefined || parameters === undefined) return undefined
  const numbers = new Map(
    [...parameters.matchAll(/;\s*([a-z]+)=(\d+(?:\.\d+)?)/g)].map(([, name, value]) => [name, Number(value)] as const),
  )
  const capacityTokens = numbers.get('q')
  const refillTokens = numbers.get('refill') ?? capacityTokens
  const periodS = numbers.get('period') ?? numbers.get('w')
  if (capacityTokens === undefined || refillTokens === undefined || periodS === undefined) return undefined
  // A period of parts of a second as one of whole seconds: 1 in 0.2 s is 1000 in 200 s.
  const scale = Number.isInteger(periodS) ? 1 : 1000
  return { policy, rule: { capacityTokens, refillTokens: refillTokens * scale, periodS: Math.round(periodS * scale) } }
}

const wholeNumber = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined)

export const refillPerS = ({ refillTokens, periodS }: Rule) => refillTokens / periodS
