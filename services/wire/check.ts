import { type Check, type ParsedCheck, parseCheck } from '../contract/check.ts'
import type { ShouldAllowRequest, ShouldAllowRequest__Output } from './gen/weir/v1/ShouldAllowRequest.ts'

export const encodeCheck = ({ domain, attributes, cost }: Check): ShouldAllowRequest => ({
  domain,
  attributes: Object.fromEntries(attributes),
  cost,
})

export const decodeCheck = ({ domain = '', attributes = {}, cost }: ShouldAllowRequest__Output): ParsedCheck =>
  parseCheck({ domain, attributes, cost })
