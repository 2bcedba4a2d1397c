// Original file: proto/weir/v1/admin.proto

import type { Quota as _weir_v1_Quota, Quota__Output as _weir_v1_Quota__Output } from '../../weir/v1/Quota.ts';

export interface PolicyQuota {
  'policy'?: (string);
  'quota'?: (_weir_v1_Quota | null);
  'shadow'?: (boolean);
}

export interface PolicyQuota__Output {
  'policy'?: (string);
  'quota'?: (_weir_v1_Quota__Output);
  'shadow'?: (boolean);
}
