// Original file: proto/weir/v1/rate_limit.proto

export const Basis = {
  BASIS_UNSPECIFIED: 'BASIS_UNSPECIFIED',
  BUCKET: 'BUCKET',
  SHARE: 'SHARE',
  NO_POLICY: 'NO_POLICY',
  EXEMPT: 'EXEMPT',
  STORE_UNAVAILABLE: 'STORE_UNAVAILABLE',
  NEVER_SATISFIABLE: 'NEVER_SATISFIABLE',
} as const;

export type Basis =
  | 'BASIS_UNSPECIFIED'
  | 0
  | 'BUCKET'
  | 1
  | 'SHARE'
  | 2
  | 'NO_POLICY'
  | 3
  | 'EXEMPT'
  | 4
  | 'STORE_UNAVAILABLE'
  | 5
  | 'NEVER_SATISFIABLE'
  | 6

export type Basis__Output = typeof Basis[keyof typeof Basis]
