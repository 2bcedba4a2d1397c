import { type Check, type ParsedCheck, parseCheck } from '../contract/check.ts'
import type { ShouldAllowRequest, ShouldAllowRequest__Output } from './gen/weir/v1/ShouldAllowRequest.ts'

export const encodeCheck = ({ domain, attributes, cost, requestId }: Check): ShouldAllowRequest => ({
  domain,
  attributes: Object.fromEntries(attributes),
  cost,
  ...(requestId !== undefined && { requestId }),
})

export const decodeCheck = ({
  domain = '',
  attributes = {},
  cost,
  requestId,
}: ShouldAllowRequest__Output): ParsedCheck => parseCheck({ domain, attributes, cost, requestId })
