import type { Buffer } from 'node:buffer'
import { BYTES, NUMBER, tagOf } from './message-reader.ts'
import { createMessageWriter, textBytes, textFieldBytes, varintBytes } from './message-writer.ts'

type Code = 'OK' | 'OVER_LIMIT'
type Unit = keyof typeof UNITS

/** Envoy's RateLimitResponse, as far as it is used. */
export type RateLimitResponse = {
  readonly overallCode: Code
  readonly statuses: readonly RateLimitStatus[]
  readonly responseHeadersToAdd?: readonly { readonly key: string; readonly value: string }[]
  readonly rawBody?: Uint8Array
}

/** What is said of one descriptor. */
export type RateLimitStatus = {
  readonly code: Code
  readonly currentLimit?: { readonly name: string; readonly requestsPerUnit: number; readonly unit: Unit }
  readonly limitRemaining?: number
  readonly durationUntilReset?: { readonly seconds: number }
}

const OVERALL_CODE = tagOf(1, NUMBER)
const STATUSES = tagOf(2, BYTES)
const HEADERS = tagOf(3, BYTES)
const RAW_BODY = tagOf(5, BYTES)
const CODE = tagOf(1, NUMBER)
const CURRENT_LIMIT = tagOf(2, BYTES)
const LIMIT_REMAINING = tagOf(3, NUMBER)
const DURATION_UNTIL_RESET = tagOf(4, BYTES)
const REQUESTS_PER_UNIT = tagOf(1, NUMBER)
const UNIT = tagOf(2, NUMBER)
const NAME = tagOf(3, BYTES)
const SECONDS = tagOf(1, NUMBER)
const KEY = tagOf(1, BYTES)
const VALUE = tagOf(2, BYTES)

const CODES = { OK: 1, OVER_LIMIT: 2 } as const satisfies Record<Code, number>
const UNITS = { SECOND: 1, MINUTE: 2, HOUR: 3, DAY: 4, MONTH: 5, YEAR: 6, WEEK: 7 } as const

/** Of a code and a unit, which are below 128. */
const SMALL_BYTES = 2
const numberBytes = (value: number) => 1 + varintBytes(value)

type Limit = NonNullable<RateLimitStatus['currentLimit']>
type Header = { readonly key: string; readonly value: string }

const limitBytes = ({ name, requestsPerUnit }: Limit) =>
  numberBytes(requestsPerUnit) + SMALL_BYTES + textFieldBytes(textBytes(name))

const statusBytes = ({ currentLimit, limitRemaining, durationUntilReset }: RateLimitStatus) =>
  SMALL_BYTES +
  (currentLimit === undefined ? 0 : textFieldBytes(limitBytes(currentLimit))) +
  (limitRemaining === undefined ? 0 : numberBytes(limitRemaining)) +
  (durationUntilReset === undefined ? 0 : textFieldBytes(numberBytes(durationUntilReset.seconds)))

const headerBytes = ({ key, value }: Header) => textFieldBytes(textBytes(key)) + textFieldBytes(textBytes(value))

const writer = createMessageWriter()

export const encodeRateLimitResponse = (response: RateLimitResponse): Buffer => {
  const { overallCode, statuses, responseHeadersToAdd = [], rawBody } = response
  writer.reserve(SMALL_BYTES)
  writer.number(OVERALL_CODE, CODES[overallCode])
  for (const status of statuses) writeStatus(status)
  for (const header of responseHeadersToAdd) writeHeader(header)
  if (rawBody !== undefined) {
    writer.reserve(textFieldBytes(rawBody.length))
    writer.bytes(RAW_BODY, rawBody)
  }
  return writer.finish()
}

const writeStatus = (status: RateLimitStatus) => {
  const { code, currentLimit, limitRemaining, durationUntilReset } = status
  const bytes = statusBytes(status)
  writer.reserve(textFieldBytes(bytes))
  writer.message(STATUSES, bytes)
  writer.number(CODE, CODES[code])
  if (currentLimit !== undefined) {
    writer.message(CURRENT_LIMIT, limitBytes(currentLimit))
    writer.number(REQUESTS_PER_UNIT, currentLimit.requestsPerUnit)
    writer.number(UNIT, UNITS[currentLimit.unit])
    writer.text(NAME, currentLimit.name, textBytes(currentLimit.name))
  }
  if (limitRemaining !== undefined) writer.number(LIMIT_REMAINING, limitRemaining)
  if (durationUntilReset !== undefined) {
    writer.message(DURATION_UNTIL_RESET, numberBytes(durationUntilReset.seconds))
    writer.number(SECONDS, durationUntilReset.seconds)
  }
}

const writeHeader = (header: Header) => {
  const bytes = headerBytes(header)
  writer.reserve(textFieldBytes(bytes))
  writer.message(HEADERS, bytes)
  writer.text(KEY, header.key, textBytes(header.key))
  writer.text(VALUE, header.value, textBytes(header.value))
}
