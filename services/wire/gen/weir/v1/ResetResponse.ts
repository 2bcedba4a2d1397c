// Original file: proto/weir/v1/admin.proto


export interface ResetResponse {
  'policies'?: (string)[];
}

export interface ResetResponse__Output {
  'policies': (string)[];
}
