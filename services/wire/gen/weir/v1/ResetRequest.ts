// Original file: proto/weir/v1/admin.proto


export interface ResetRequest {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
  'policy'?: (string);
  '_policy'?: "policy";
}

export interface ResetRequest__Output {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
  'policy'?: (string);
}
