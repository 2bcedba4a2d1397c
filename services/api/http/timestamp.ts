/** An instant of RFC 3339, which may be finer than the whole milliseconds that are kept. */
export type Timestamp = { readonly ms: number; readonly isFiner: boolean }

const FORM =
  /^(?<date>\d{4}-\d\d-\d\d)[Tt](?<time>[01]\d:[0-5]\d|2[0-3]:[0-5]\d):(?<second>[0-5]\d|60)(?:\.(?<fraction>\d+))?(?<zone>[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** `undefined` for anything but a date and time with a zone. A leap second counts as the one after it. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const groups = FORM.exec(text)?.groups
  if (groups === undefined) return undefined
  const { date = '', time = '', second = '', fraction = '', zone = '' } = groups
  const isLeap = second === '60'
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0')
  const ms = Date.parse(`${date}T${time}:${isLeap ? '59' : second}.${milliseconds}${zone.toUpperCase()}`)
  // Date.parse takes the 31st of February for a day in March.
  if (Number.isNaN(ms) || !isDay(date)) return undefined
  return { ms: isLeap ? ms + 1000 : ms, isFiner: /[1-9]/.test(fraction.slice(3)) }
}

const isDay = (date: string) => {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date)
}
