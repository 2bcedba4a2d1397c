// Original file: proto/weir/v1/admin.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { PeekRequest as _weir_v1_PeekRequest, PeekRequest__Output as _weir_v1_PeekRequest__Output } from '../../weir/v1/PeekRequest.ts';
import type { PeekResponse as _weir_v1_PeekResponse, PeekResponse__Output as _weir_v1_PeekResponse__Output } from '../../weir/v1/PeekResponse.ts';
import type { ResetRequest as _weir_v1_ResetRequest, ResetRequest__Output as _weir_v1_ResetRequest__Output } from '../../weir/v1/ResetRequest.ts';
import type { ResetResponse as _weir_v1_ResetResponse, ResetResponse__Output as _weir_v1_ResetResponse__Output } from '../../weir/v1/ResetResponse.ts';

export interface AdminClient extends grpc.Client {
  Peek(argument: _weir_v1_PeekRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  Peek(argument: _weir_v1_PeekRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  Peek(argument: _weir_v1_PeekRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  Peek(argument: _weir_v1_PeekRequest, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  peek(argument: _weir_v1_PeekRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  peek(argument: _weir_v1_PeekRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  peek(argument: _weir_v1_PeekRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  peek(argument: _weir_v1_PeekRequest, callback: grpc.requestCallback<_weir_v1_PeekResponse__Output>): grpc.ClientUnaryCall;
  
  Reset(argument: _weir_v1_ResetRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  Reset(argument: _weir_v1_ResetRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  Reset(argument: _weir_v1_ResetRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  Reset(argument: _weir_v1_ResetRequest, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  reset(argument: _weir_v1_ResetRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  reset(argument: _weir_v1_ResetRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  reset(argument: _weir_v1_ResetRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  reset(argument: _weir_v1_ResetRequest, callback: grpc.requestCallback<_weir_v1_ResetResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface AdminHandlers extends grpc.UntypedServiceImplementation {
  Peek: grpc.handleUnaryCall<_weir_v1_PeekRequest__Output, _weir_v1_PeekResponse>;
  
  Reset: grpc.handleUnaryCall<_weir_v1_ResetRequest__Output, _weir_v1_ResetResponse>;
  
}

export interface AdminDefinition extends grpc.ServiceDefinition {
  Peek: MethodDefinition<_weir_v1_PeekRequest, _weir_v1_PeekResponse, _weir_v1_PeekRequest__Output, _weir_v1_PeekResponse__Output>
  Reset: MethodDefinition<_weir_v1_ResetRequest, _weir_v1_ResetResponse, _weir_v1_ResetRequest__Output, _weir_v1_ResetResponse__Output>
}
