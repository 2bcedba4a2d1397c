// Original file: proto/weir/v1/rate_limit.proto

import type { ShouldAllowRequest as _weir_v1_ShouldAllowRequest, ShouldAllowRequest__Output as _weir_v1_ShouldAllowRequest__Output } from '../../weir/v1/ShouldAllowRequest.ts';

export interface CheckFrame {
  'firstId'?: (number);
  'checks'?: (_weir_v1_ShouldAllowRequest)[];
}

export interface CheckFrame__Output {
  'firstId'?: (number);
  'checks': (_weir_v1_ShouldAllowRequest__Output)[];
}
