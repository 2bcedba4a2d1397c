/** A refill as people write it, in whole numbers: `refillTokens` tokens every `periodS` seconds. */
export type ParsedRefill =
  | { readonly ok: true; readonly refillTokens: number; readonly periodS: number }
  | { readonly ok: false; readonly problem: string }

const SECONDS = { s: 1, min: 60, h: 3_600, d: 86_400 } as const

const SYNTAX = /^(?<amount>\d{1,15}(?:\.\d{1,9})?)\s*(?:\/\s*|per\s+)(?<count>\d{1,9})?\s*(?<unit>s|min|h|d)$/

/** Reads `5/s`, `100/min`, `1000/h`, `5 per 10s`, `0.2/s` without a rounding: 0.2/s is 1 token every 5 s. */
export const parseRefill = (text: string): ParsedRefill => {
  const groups = SYNTAX.exec(text.trim())?.groups
  const amount = groups?.['amount']
  const unit = groups?.['unit']
  if (amount === undefined || unit === undefined || !isUnit(unit))
    return { ok: false, problem: 'must be tokens in a time (s, min, h, d), as in 5/s, 100/min, 0.2/s or "5 per 10s"' }
  const [whole = '', decimals = ''] = amount.split('.')
  // 0.2 tokens in 1 s are 2 tokens in 10 s.
  const refillTokens = Number(whole + decimals)
  const periodS = Number(groups?.['count'] ?? 1) * SECONDS[unit] * 10 ** decimals.length
  if (!Number.isSafeInteger(refillTokens) || !Number.isSafeInteger(periodS))
    return { ok: false, problem: 'has too many digits to be counted exactly; round it' }
  return { ok: true, refillTokens, periodS }
}

const isUnit = (unit: string): unit is keyof typeof SECONDS => unit in SECONDS
