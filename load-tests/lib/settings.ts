// What a run is told by its environment. A value that is wrong ends the run before it starts.

/** Empty counts as absent, as in `API_KEY= k6 run …`. */
export const textSetting = (name: string): string | undefined => {
  const value = __ENV[name]
  return value === undefined || value === '' ? undefined : value
}

export const numberSetting = (name: string, fallback: number): number => {
  const text = textSetting(name)
  const value = text === undefined ? fallback : Number(text)
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name} must be a number from 0 on, not ${text}`)
  return value
}

export const listSetting = (name: string): readonly string[] =>
  (textSetting(name) ?? '').split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]))

/** Without a slash at its end. */
export const baseUrl = (textSetting('BASE_URL') ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')

/** What is asked for: a request that is admitted should cost the installation little. */
export const requestPath = textSetting('REQUEST_PATH') ?? '/v1/orders?limit=1'

export const apiKey = textSetting('API_KEY')

/** Of many clients, each with a bucket of its own; where only `API_KEY` is given, of that one. */
export const apiKeys = (): readonly string[] => {
  const keys = listSetting('API_KEYS')
  if (keys.length > 0) return keys
  return apiKey === undefined ? [] : [apiKey]
}
