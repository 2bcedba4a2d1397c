import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { HeaderValue as _envoy_config_core_v3_HeaderValue, HeaderValue__Output as _envoy_config_core_v3_HeaderValue__Output } from './envoy/config/core/v3/HeaderValue.ts';
import type { RateLimitDescriptor as _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor, RateLimitDescriptor__Output as _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor__Output } from './envoy/extensions/common/ratelimit/v3/RateLimitDescriptor.ts';
import type { RateLimitRequest as _envoy_service_ratelimit_v3_RateLimitRequest, RateLimitRequest__Output as _envoy_service_ratelimit_v3_RateLimitRequest__Output } from './envoy/service/ratelimit/v3/RateLimitRequest.ts';
import type { RateLimitResponse as _envoy_service_ratelimit_v3_RateLimitResponse, RateLimitResponse__Output as _envoy_service_ratelimit_v3_RateLimitResponse__Output } from './envoy/service/ratelimit/v3/RateLimitResponse.ts';
import type { RateLimitServiceClient as _envoy_service_ratelimit_v3_RateLimitServiceClient, RateLimitServiceDefinition as _envoy_service_ratelimit_v3_RateLimitServiceDefinition } from './envoy/service/ratelimit/v3/RateLimitService.ts';
import type { BoolValue as _google_protobuf_BoolValue, BoolValue__Output as _google_protobuf_BoolValue__Output } from './google/protobuf/BoolValue.ts';
import type { BytesValue as _google_protobuf_BytesValue, BytesValue__Output as _google_protobuf_BytesValue__Output } from './google/protobuf/BytesValue.ts';
import type { DoubleValue as _google_protobuf_DoubleValue, DoubleValue__Output as _google_protobuf_DoubleValue__Output } from './google/protobuf/DoubleValue.ts';
import type { Duration as _google_protobuf_Duration, Duration__Output as _google_protobuf_Duration__Output } from './google/protobuf/Duration.ts';
import type { FloatValue as _google_protobuf_FloatValue, FloatValue__Output as _google_protobuf_FloatValue__Output } from './google/protobuf/FloatValue.ts';
import type { Int32Value as _google_protobuf_Int32Value, Int32Value__Output as _google_protobuf_Int32Value__Output } from './google/protobuf/Int32Value.ts';
import type { Int64Value as _google_protobuf_Int64Value, Int64Value__Output as _google_protobuf_Int64Value__Output } from './google/protobuf/Int64Value.ts';
import type { StringValue as _google_protobuf_StringValue, StringValue__Output as _google_protobuf_StringValue__Output } from './google/protobuf/StringValue.ts';
import type { UInt32Value as _google_protobuf_UInt32Value, UInt32Value__Output as _google_protobuf_UInt32Value__Output } from './google/protobuf/UInt32Value.ts';
import type { UInt64Value as _google_protobuf_UInt64Value, UInt64Value__Output as _google_protobuf_UInt64Value__Output } from './google/protobuf/UInt64Value.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  envoy: {
    config: {
      core: {
        v3: {
          HeaderValue: MessageTypeDefinition<_envoy_config_core_v3_HeaderValue, _envoy_config_core_v3_HeaderValue__Output>
        }
      }
    }
    extensions: {
      common: {
        ratelimit: {
          v3: {
            RateLimitDescriptor: MessageTypeDefinition<_envoy_extensions_common_ratelimit_v3_RateLimitDescriptor, _envoy_extensions_common_ratelimit_v3_RateLimitDescriptor__Output>
          }
        }
      }
    }
    service: {
      ratelimit: {
        v3: {
          RateLimitRequest: MessageTypeDefinition<_envoy_service_ratelimit_v3_RateLimitRequest, _envoy_service_ratelimit_v3_RateLimitRequest__Output>
          RateLimitResponse: MessageTypeDefinition<_envoy_service_ratelimit_v3_RateLimitResponse, _envoy_service_ratelimit_v3_RateLimitResponse__Output>
          RateLimitService: SubtypeConstructor<typeof grpc.Client, _envoy_service_ratelimit_v3_RateLimitServiceClient> & { service: _envoy_service_ratelimit_v3_RateLimitServiceDefinition }
        }
      }
    }
    type: {
      v3: {
        RateLimitUnit: EnumTypeDefinition
      }
    }
  }
  google: {
    protobuf: {
      BoolValue: MessageTypeDefinition<_google_protobuf_BoolValue, _google_protobuf_BoolValue__Output>
      BytesValue: MessageTypeDefinition<_google_protobuf_BytesValue, _google_protobuf_BytesValue__Output>
      DoubleValue: MessageTypeDefinition<_google_protobuf_DoubleValue, _google_protobuf_DoubleValue__Output>
      Duration: MessageTypeDefinition<_google_protobuf_Duration, _google_protobuf_Duration__Output>
      FloatValue: MessageTypeDefinition<_google_protobuf_FloatValue, _google_protobuf_FloatValue__Output>
      Int32Value: MessageTypeDefinition<_google_protobuf_Int32Value, _google_protobuf_Int32Value__Output>
      Int64Value: MessageTypeDefinition<_google_protobuf_Int64Value, _google_protobuf_Int64Value__Output>
      StringValue: MessageTypeDefinition<_google_protobuf_StringValue, _google_protobuf_StringValue__Output>
      UInt32Value: MessageTypeDefinition<_google_protobuf_UInt32Value, _google_protobuf_UInt32Value__Output>
      UInt64Value: MessageTypeDefinition<_google_protobuf_UInt64Value, _google_protobuf_UInt64Value__Output>
    }
  }
}

