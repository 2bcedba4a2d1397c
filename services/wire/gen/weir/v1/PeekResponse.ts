// Original file: proto/weir/v1/admin.proto

import type { PolicyQuota as _weir_v1_PolicyQuota, PolicyQuota__Output as _weir_v1_PolicyQuota__Output } from '../../weir/v1/PolicyQuota.ts';

export interface PeekResponse {
  'quotas'?: (_weir_v1_PolicyQuota)[];
}

export interface PeekResponse__Output {
  'quotas': (_weir_v1_PolicyQuota__Output)[];
}
