// Original file: proto/weir/v1/admin.proto


export interface PeekRequest {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
}

export interface PeekRequest__Output {
  'domain'?: (string);
  'attributes'?: ({[key: string]: string});
}
