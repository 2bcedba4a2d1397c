import type { Rule } from '../bucket/rule.ts'
import type { Faults } from './faults.ts'
import type { Journal } from './journal.ts'
import type { Plan } from './plan.ts'
import type { World } from './world.ts'

/** A schedule that is over. */
export type Told = {
  readonly plan: Plan
  readonly faults: Faults
  readonly journal: Journal
  readonly world: World
  /** When the last fault was over. */
  readonly healedUs: number
  /** Of which the store was still owed something when all was well again, before anybody asked for those buckets. */
  readonly openAccounts: number
}

export const perUs = ({ refillTokens, periodS }: Rule) => refillTokens / periodS / 1e6

export const fasterOf = (rule: Rule, other: Rule | undefined) =>
  other !== undefined && perUs(other) > perUs(rule) ? other : rule
