// Original file: proto/weir/v1/rate_limit.proto

import type { ShouldAllowResponse as _weir_v1_ShouldAllowResponse, ShouldAllowResponse__Output as _weir_v1_ShouldAllowResponse__Output } from '../../weir/v1/ShouldAllowResponse.ts';
import type { CheckError as _weir_v1_CheckError, CheckError__Output as _weir_v1_CheckError__Output } from '../../weir/v1/CheckError.ts';

export interface StreamDecision {
  'id'?: (number);
  'decision'?: (_weir_v1_ShouldAllowResponse | null);
  'error'?: (_weir_v1_CheckError | null);
  'result'?: "decision"|"error";
}

export interface StreamDecision__Output {
  'id'?: (number);
  'decision'?: (_weir_v1_ShouldAllowResponse__Output);
  'error'?: (_weir_v1_CheckError__Output);
}
