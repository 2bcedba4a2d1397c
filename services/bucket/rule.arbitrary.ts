import fc from 'fast-check'
import { makeRule, type Rule, ruleLimits } from './rule.ts'

/** Rules from all over the permitted range, the far corners included. */
export const anyRule: fc.Arbitrary<Rule> = fc
  .record({
    capacity: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: ruleLimits.capacityTokens })),
    tokens: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1_000_000_000_000 })),
    seconds: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 9_000_000_000 })),
  })
  .map(({ capacity, tokens, seconds }) => makeRule(capacity, tokens, seconds))
  .filter((made) => made.ok)
  .map((made) => made.rule)
