// Original file: proto/weir/v1/rate_limit.proto


export interface CheckError {
  'code'?: (number);
  'message'?: (string);
}

export interface CheckError__Output {
  'code'?: (number);
  'message'?: (string);
}
