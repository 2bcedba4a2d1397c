/** What every store must do. A store's test calls this with a way to open it; see `memory-store.test.ts`. */
import { describe } from 'vitest'
import { testAnyTakes } from './any-takes.conformance.ts'
import { describeClock } from './clock.conformance.ts'
import { describeRequestIds } from './request-ids.conformance.ts'
import type { OpenStore } from './store-under-test.fixture.ts'
import { describeTakes } from './takes.conformance.ts'

type Options = { readonly open: OpenStore; readonly propertyRuns: number }

export const describeStore = (name: string, { open, propertyRuns }: Options) =>
  describe(`${name} as a bucket store`, () => {
    describeTakes(open)
    describeClock(open)
    describeRequestIds(open)
    testAnyTakes(open, propertyRuns)
  })
