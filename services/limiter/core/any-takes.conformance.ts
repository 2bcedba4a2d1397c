import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import type { GroupKey, Take } from './store.ts'
import { asked, type OpenStore, take } from './store-under-test.fixture.ts'
import { createTakeOracle } from './take.oracle.ts'

/** Random takes, held to the oracle. */
export const testAnyTakes = (open: OpenStore, propertyRuns: number) =>
  test('any sequence of takes over any buckets is what exact rational arithmetic allows', async () => {
    await using opened = await open()
    await fc.assert(
      fc.asyncProperty(anyTakes, async (steps) => {
        const oracle = createTakeOracle()
        const run = randomUUID()
        for (const { elapsedUs, take: template } of steps) {
          opened.advanceUs(elapsedUs)
          const buckets = template.buckets.map((one) => ({ ...one, group: `${one.group}:${run}` as GroupKey }))
          const { granted, readings } = await take(opened.store, template.cost, ...buckets)
          const held = readings.map((reading) => reading.held)
          expect(oracle.agrees({ ...template, buckets }, opened.nowUs(), granted, held)).toBe(true)
        }
      }),
      { numRuns: propertyRuns },
    )
  })

type Step = { readonly elapsedUs: number; readonly take: Take }

/** Rules that run empty within a few takes, and rules from the far corners. */
const anyConformanceRule = fc.oneof(
  fc.record({
    capacityTokens: fc.integer({ min: 1, max: 8 }),
    refillTokens: fc.integer({ min: 1, max: 9 }),
    periodS: fc.integer({ min: 1, max: 60 }),
  }),
  anyRule,
)

/** A few buckets in a group, each with a rule of its own, and takes over any of them. */
const anyTakesOf = (group: string) =>
  fc
    .array(fc.tuple(anyConformanceRule, fc.boolean()), { minLength: 1, maxLength: 3 })
    .map((drafts) => drafts.map(([rule, enforced], index) => asked(group as GroupKey, `b${index}`, rule, enforced)))
    .chain((buckets) =>
      fc.array(fc.tuple(fc.subarray(buckets, { minLength: 1 }), anyElapsedUs, fc.integer({ min: 0, max: 4 })), {
        maxLength: 30,
      }),
    )

/** Takes over two groups in turn; each take stays within one, where all-or-nothing is exact in every store. */
const anyTakes: fc.Arbitrary<readonly Step[]> = fc
  .tuple(anyTakesOf('s:x'), anyTakesOf('p:y'))
  .map(([own, other]) => own.flatMap((step, index) => [step, ...other.slice(index, index + 1)]))
  .map((steps) =>
    steps.map(([buckets, elapsedUs, cost]): Step => {
      const capacities = buckets.filter(({ enforced }) => enforced).map(({ rule }) => rule.capacityTokens)
      return { elapsedUs, take: { cost: Math.min(cost, ...capacities), buckets } }
    }),
  )

const anyElapsedUs = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 3_000_000 }),
  fc.integer({ min: 0, max: 1_000_000_000 }),
)
