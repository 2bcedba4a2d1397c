// Original file: proto/weir/v1/rate_limit.proto


export interface TracedCheck {
  'index'?: (number);
  'traceparent'?: (string);
  'tracestate'?: (string);
}

export interface TracedCheck__Output {
  'index'?: (number);
  'traceparent'?: (string);
  'tracestate'?: (string);
}
