// Original file: proto/weir/v1/rate_limit.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { CheckFrame as _weir_v1_CheckFrame, CheckFrame__Output as _weir_v1_CheckFrame__Output } from '../../weir/v1/CheckFrame.ts';
import type { DecisionFrame as _weir_v1_DecisionFrame, DecisionFrame__Output as _weir_v1_DecisionFrame__Output } from '../../weir/v1/DecisionFrame.ts';
import type { ShouldAllowRequest as _weir_v1_ShouldAllowRequest, ShouldAllowRequest__Output as _weir_v1_ShouldAllowRequest__Output } from '../../weir/v1/ShouldAllowRequest.ts';
import type { ShouldAllowResponse as _weir_v1_ShouldAllowResponse, ShouldAllowResponse__Output as _weir_v1_ShouldAllowResponse__Output } from '../../weir/v1/ShouldAllowResponse.ts';

export interface RateLimitClient extends grpc.Client {
  ShouldAllow(argument: _weir_v1_ShouldAllowRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  ShouldAllow(argument: _weir_v1_ShouldAllowRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  ShouldAllow(argument: _weir_v1_ShouldAllowRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  ShouldAllow(argument: _weir_v1_ShouldAllowRequest, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  shouldAllow(argument: _weir_v1_ShouldAllowRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  shouldAllow(argument: _weir_v1_ShouldAllowRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  shouldAllow(argument: _weir_v1_ShouldAllowRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  shouldAllow(argument: _weir_v1_ShouldAllowRequest, callback: grpc.requestCallback<_weir_v1_ShouldAllowResponse__Output>): grpc.ClientUnaryCall;
  
  ShouldAllowStream(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_weir_v1_CheckFrame, _weir_v1_DecisionFrame__Output>;
  ShouldAllowStream(options?: grpc.CallOptions): grpc.ClientDuplexStream<_weir_v1_CheckFrame, _weir_v1_DecisionFrame__Output>;
  shouldAllowStream(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_weir_v1_CheckFrame, _weir_v1_DecisionFrame__Output>;
  shouldAllowStream(options?: grpc.CallOptions): grpc.ClientDuplexStream<_weir_v1_CheckFrame, _weir_v1_DecisionFrame__Output>;
  
}

export interface RateLimitHandlers extends grpc.UntypedServiceImplementation {
  ShouldAllow: grpc.handleUnaryCall<_weir_v1_ShouldAllowRequest__Output, _weir_v1_ShouldAllowResponse>;
  
  ShouldAllowStream: grpc.handleBidiStreamingCall<_weir_v1_CheckFrame__Output, _weir_v1_DecisionFrame>;
  
}

export interface RateLimitDefinition extends grpc.ServiceDefinition {
  ShouldAllow: MethodDefinition<_weir_v1_ShouldAllowRequest, _weir_v1_ShouldAllowResponse, _weir_v1_ShouldAllowRequest__Output, _weir_v1_ShouldAllowResponse__Output>
  ShouldAllowStream: MethodDefinition<_weir_v1_CheckFrame, _weir_v1_DecisionFrame, _weir_v1_CheckFrame__Output, _weir_v1_DecisionFrame__Output>
}
