// Original file: proto/weir/v1/rate_limit.proto

import type { Long } from '@grpc/proto-loader';

export interface Quota {
  'limit'?: (number | string | Long);
  'remaining'?: (number | string | Long);
  'resetAfterMs'?: (number | string | Long);
  'refillTokens'?: (number | string | Long);
  'refillPeriodMs'?: (number | string | Long);
}

export interface Quota__Output {
  'limit'?: (number);
  'remaining'?: (number);
  'resetAfterMs'?: (number);
  'refillTokens'?: (number);
  'refillPeriodMs'?: (number);
}
