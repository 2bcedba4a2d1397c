const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 }

/** What the header `grpc-timeout` says; `undefined`: it says nothing that gRPC knows. */
export const parseTimeoutMs = (text: string): number | undefined => {
  const unitMs = UNITS_MS[text.slice(-1)]
  const digits = text.slice(0, -1)
  return unitMs !== undefined && /^\d{1,8}$/.test(digits) ? Number(digits) * unitMs : undefined
}
