// Original file: proto/weir/v1/rate_limit.proto

export const Verdict = {
  VERDICT_UNSPECIFIED: 'VERDICT_UNSPECIFIED',
  ALLOW: 'ALLOW',
  DENY: 'DENY',
} as const;

export type Verdict =
  | 'VERDICT_UNSPECIFIED'
  | 0
  | 'ALLOW'
  | 1
  | 'DENY'
  | 2

export type Verdict__Output = typeof Verdict[keyof typeof Verdict]
