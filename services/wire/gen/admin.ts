import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { AdminClient as _weir_v1_AdminClient, AdminDefinition as _weir_v1_AdminDefinition } from './weir/v1/Admin.ts';
import type { CheckError as _weir_v1_CheckError, CheckError__Output as _weir_v1_CheckError__Output } from './weir/v1/CheckError.ts';
import type { CheckFrame as _weir_v1_CheckFrame, CheckFrame__Output as _weir_v1_CheckFrame__Output } from './weir/v1/CheckFrame.ts';
import type { DecisionFrame as _weir_v1_DecisionFrame, DecisionFrame__Output as _weir_v1_DecisionFrame__Output } from './weir/v1/DecisionFrame.ts';
import type { PeekRequest as _weir_v1_PeekRequest, PeekRequest__Output as _weir_v1_PeekRequest__Output } from './weir/v1/PeekRequest.ts';
import type { PeekResponse as _weir_v1_PeekResponse, PeekResponse__Output as _weir_v1_PeekResponse__Output } from './weir/v1/PeekResponse.ts';
import type { PolicyQuota as _weir_v1_PolicyQuota, PolicyQuota__Output as _weir_v1_PolicyQuota__Output } from './weir/v1/PolicyQuota.ts';
import type { Quota as _weir_v1_Quota, Quota__Output as _weir_v1_Quota__Output } from './weir/v1/Quota.ts';
import type { RateLimitClient as _weir_v1_RateLimitClient, RateLimitDefinition as _weir_v1_RateLimitDefinition } from './weir/v1/RateLimit.ts';
import type { ResetRequest as _weir_v1_ResetRequest, ResetRequest__Output as _weir_v1_ResetRequest__Output } from './weir/v1/ResetRequest.ts';
import type { ResetResponse as _weir_v1_ResetResponse, ResetResponse__Output as _weir_v1_ResetResponse__Output } from './weir/v1/ResetResponse.ts';
import type { ShadowVerdict as _weir_v1_ShadowVerdict, ShadowVerdict__Output as _weir_v1_ShadowVerdict__Output } from './weir/v1/ShadowVerdict.ts';
import type { ShouldAllowRequest as _weir_v1_ShouldAllowRequest, ShouldAllowRequest__Output as _weir_v1_ShouldAllowRequest__Output } from './weir/v1/ShouldAllowRequest.ts';
import type { ShouldAllowResponse as _weir_v1_ShouldAllowResponse, ShouldAllowResponse__Output as _weir_v1_ShouldAllowResponse__Output } from './weir/v1/ShouldAllowResponse.ts';
import type { StreamDecision as _weir_v1_StreamDecision, StreamDecision__Output as _weir_v1_StreamDecision__Output } from './weir/v1/StreamDecision.ts';
import type { TracedCheck as _weir_v1_TracedCheck, TracedCheck__Output as _weir_v1_TracedCheck__Output } from './weir/v1/TracedCheck.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  weir: {
    v1: {
      Admin: SubtypeConstructor<typeof grpc.Client, _weir_v1_AdminClient> & { service: _weir_v1_AdminDefinition }
      Basis: EnumTypeDefinition
      CheckError: MessageTypeDefinition<_weir_v1_CheckError, _weir_v1_CheckError__Output>
      CheckFrame: MessageTypeDefinition<_weir_v1_CheckFrame, _weir_v1_CheckFrame__Output>
      DecisionFrame: MessageTypeDefinition<_weir_v1_DecisionFrame, _weir_v1_DecisionFrame__Output>
      PeekRequest: MessageTypeDefinition<_weir_v1_PeekRequest, _weir_v1_PeekRequest__Output>
      PeekResponse: MessageTypeDefinition<_weir_v1_PeekResponse, _weir_v1_PeekResponse__Output>
      PolicyQuota: MessageTypeDefinition<_weir_v1_PolicyQuota, _weir_v1_PolicyQuota__Output>
      Quota: MessageTypeDefinition<_weir_v1_Quota, _weir_v1_Quota__Output>
      RateLimit: SubtypeConstructor<typeof grpc.Client, _weir_v1_RateLimitClient> & { service: _weir_v1_RateLimitDefinition }
      ResetRequest: MessageTypeDefinition<_weir_v1_ResetRequest, _weir_v1_ResetRequest__Output>
      ResetResponse: MessageTypeDefinition<_weir_v1_ResetResponse, _weir_v1_ResetResponse__Output>
      ShadowVerdict: MessageTypeDefinition<_weir_v1_ShadowVerdict, _weir_v1_ShadowVerdict__Output>
      ShouldAllowRequest: MessageTypeDefinition<_weir_v1_ShouldAllowRequest, _weir_v1_ShouldAllowRequest__Output>
      ShouldAllowResponse: MessageTypeDefinition<_weir_v1_ShouldAllowResponse, _weir_v1_ShouldAllowResponse__Output>
      StreamDecision: MessageTypeDefinition<_weir_v1_StreamDecision, _weir_v1_StreamDecision__Output>
      TracedCheck: MessageTypeDefinition<_weir_v1_TracedCheck, _weir_v1_TracedCheck__Output>
      Verdict: EnumTypeDefinition
    }
  }
}

