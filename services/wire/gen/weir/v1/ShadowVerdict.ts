// Original file: proto/weir/v1/rate_limit.proto

import type { Verdict as _weir_v1_Verdict, Verdict__Output as _weir_v1_Verdict__Output } from '../../weir/v1/Verdict.ts';

export interface ShadowVerdict {
  'policy'?: (string);
  'verdict'?: (_weir_v1_Verdict);
}

export interface ShadowVerdict__Output {
  'policy'?: (string);
  'verdict'?: (_weir_v1_Verdict__Output);
}
