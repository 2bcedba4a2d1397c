// Original file: proto/weir/v1/rate_limit.proto

import type { ShouldAllowRequest as _weir_v1_ShouldAllowRequest, ShouldAllowRequest__Output as _weir_v1_ShouldAllowRequest__Output } from '../../weir/v1/ShouldAllowRequest.ts';
import type { TracedCheck as _weir_v1_TracedCheck, TracedCheck__Output as _weir_v1_TracedCheck__Output } from '../../weir/v1/TracedCheck.ts';

export interface CheckFrame {
  'firstId'?: (number);
  'checks'?: (_weir_v1_ShouldAllowRequest)[];
  'traced'?: (_weir_v1_TracedCheck)[];
}

export interface CheckFrame__Output {
  'firstId'?: (number);
  'checks': (_weir_v1_ShouldAllowRequest__Output)[];
  'traced': (_weir_v1_TracedCheck__Output)[];
}
