// Original file: proto/weir/v1/rate_limit.proto

import type { StreamDecision as _weir_v1_StreamDecision, StreamDecision__Output as _weir_v1_StreamDecision__Output } from '../../weir/v1/StreamDecision.ts';

export interface DecisionFrame {
  'decisions'?: (_weir_v1_StreamDecision)[];
  'draining'?: (boolean);
}

export interface DecisionFrame__Output {
  'decisions': (_weir_v1_StreamDecision__Output)[];
  'draining'?: (boolean);
}
