// Original file: proto/envoy/extensions/common/ratelimit/v3/ratelimit.proto

import type { UInt64Value as _google_protobuf_UInt64Value, UInt64Value__Output as _google_protobuf_UInt64Value__Output } from '../../../../../google/protobuf/UInt64Value.ts';
import type { RateLimitUnit as _envoy_type_v3_RateLimitUnit, RateLimitUnit__Output as _envoy_type_v3_RateLimitUnit__Output } from '../../../../../envoy/type/v3/RateLimitUnit.ts';

export interface _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_Entry {
  'key'?: (string);
  'value'?: (string);
}

export interface _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_Entry__Output {
  'key'?: (string);
  'value'?: (string);
}

export interface _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_RateLimitOverride {
  'requestsPerUnit'?: (number);
  'unit'?: (_envoy_type_v3_RateLimitUnit);
}

export interface _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_RateLimitOverride__Output {
  'requestsPerUnit'?: (number);
  'unit'?: (_envoy_type_v3_RateLimitUnit__Output);
}

export interface RateLimitDescriptor {
  'entries'?: (_envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_Entry)[];
  'limit'?: (_envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_RateLimitOverride | null);
  'hitsAddend'?: (_google_protobuf_UInt64Value | null);
}

export interface RateLimitDescriptor__Output {
  'entries': (_envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_Entry__Output)[];
  'limit'?: (_envoy_extensions_common_ratelimit_v3_RateLimitDescriptor_RateLimitOverride__Output);
  'hitsAddend'?: (_google_protobuf_UInt64Value__Output);
}
