// Original file: proto/weir/v1/rate_limit.proto

import type { Verdict as _weir_v1_Verdict, Verdict__Output as _weir_v1_Verdict__Output } from '../../weir/v1/Verdict.ts';
import type { Basis as _weir_v1_Basis, Basis__Output as _weir_v1_Basis__Output } from '../../weir/v1/Basis.ts';
import type { Quota as _weir_v1_Quota, Quota__Output as _weir_v1_Quota__Output } from '../../weir/v1/Quota.ts';
import type { ShadowVerdict as _weir_v1_ShadowVerdict, ShadowVerdict__Output as _weir_v1_ShadowVerdict__Output } from '../../weir/v1/ShadowVerdict.ts';
import type { Long } from '@grpc/proto-loader';

export interface ShouldAllowResponse {
  'verdict'?: (_weir_v1_Verdict);
  'basis'?: (_weir_v1_Basis);
  'policy'?: (string);
  'quota'?: (_weir_v1_Quota | null);
  'retryAfterMs'?: (number | string | Long);
  'shadow'?: (_weir_v1_ShadowVerdict)[];
  'replay'?: (boolean);
  '_quota'?: "quota";
  '_retryAfterMs'?: "retryAfterMs";
}

export interface ShouldAllowResponse__Output {
  'verdict'?: (_weir_v1_Verdict__Output);
  'basis'?: (_weir_v1_Basis__Output);
  'policy'?: (string);
  'quota'?: (_weir_v1_Quota__Output);
  'retryAfterMs'?: (number);
  'shadow': (_weir_v1_ShadowVerdict__Output)[];
  'replay'?: (boolean);
}
