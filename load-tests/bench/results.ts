import type { ApiResult } from '../api-throughput.ts'
import type { MemoryResult } from '../bounded-memory.ts'
import type { BytesResult } from '../memory-per-bucket.ts'
import type { Row } from './measurement.ts'
import type { MetricsCost } from './metrics-cost.ts'

export type Run = {
  readonly date: string
  readonly command: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string; readonly redis: string }
  /** The median part of all cores that programs which are no part of the bench took; absent where it was not seen. */
  readonly othersPart?: number
}

/** What runs have found; a part that none of them ran is absent. */
export type Results = {
  readonly runs: readonly Run[]
  readonly rows: readonly Row[]
  readonly api?: readonly ApiResult[]
  readonly memory?: readonly MemoryResult[]
  readonly bytes?: readonly BytesResult[]
  readonly metrics?: MetricsCost
}
