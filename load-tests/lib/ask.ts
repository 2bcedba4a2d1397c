import http, { type Response } from 'k6/http'
import type { Verdict } from './bucket-history.ts'
import { baseUrl, requestPath } from './settings.ts'

/** An answer later than this is none. */
const PATIENCE = '10s'

export type Asked = { readonly verdict: Verdict; readonly sentMs: number; readonly response: Response }

/** One request with a key, or without one. The body is not kept unless asked for. */
export const askApi = (key: string | undefined, body: 'none' | 'text' = 'none'): Asked => {
  const sentMs = Date.now()
  const response = http.get(`${baseUrl}${requestPath}`, {
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    timeout: PATIENCE,
    responseType: body,
  })
  return { verdict: verdictOf(response), sentMs, response }
}

/** Whoever is refused by anything but the limit was let in by it; of a failure nobody knows. */
const verdictOf = ({ status }: Response): Verdict => {
  if (status === 429) return 'deny'
  return status === 0 || status >= 500 ? 'lost' : 'allow'
}

export const retryAfterS = ({ headers }: Response): number | undefined => {
  const text = headers['Retry-After'] ?? ''
  return /^\d+$/.test(text) ? Number(text) : undefined
}
