// Original file: proto/weir/v1/rate_limit.proto


export interface ShouldAllowRequest {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
  'cost'?: (number);
  'requestId'?: (string);
  '_cost'?: "cost";
}

export interface ShouldAllowRequest__Output {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
  'cost'?: (number);
  'requestId'?: (string);
}
