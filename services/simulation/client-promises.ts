import type { Rule } from '../bucket/rule.ts'
import { worstWindow } from '../conservation/worst-window.ts'
import type { Plan } from './plan.ts'
import { fasterOf, type Told } from './told.ts'

const NO_BOUND = { overTokens: 0, underTokens: 0 }

/** Between APIs and limiters. */
export const clientFaults = ({ plan, journal, world }: Told): readonly string[] => {
  const found: string[] = []
  const unanswered = journal.questions.filter(({ isAnswered }) => !isAnswered).length
  if (unanswered > 0) found.push(`${unanswered} checks of APIs were never answered`)
  const decidedAgain = journal.questions.reduce((sum, { decided }) => sum + Math.max(0, decided.length - 1), 0)
  const askedAgain = world.apis.reduce((sum, api) => sum + api.askedAgain(), 0)
  if (decidedAgain > askedAgain) found.push(`${decidedAgain} checks were decided twice, ${askedAgain} were asked again`)
  const isLimiterWell = plan.wayFaults.length + plan.limiterFaults.length === 0 && !plan.apisStop
  if (isLimiterWell && world.apis.some((api) => api.lost() > 0)) found.push('a limiter that was well was given up')
  if (isLimiterWell && journal.fallbacks.size > 0) found.push('a limiter that was well was not waited for')
  for (const [name, calls] of journal.fallbacks) {
    const rule = fallbackRule(plan)
    const excessTokens = worstWindow({ rule, calls, faultBound: NO_BOUND })?.excessTokens ?? 0
    // Its clock is not the true one.
    if (excessTokens > 1) found.push(`${name} got ${excessTokens} tokens more than the fallback has`)
  }
  return found
}

/** The largest of what limiters reported and what the API has of itself. */
const fallbackRule = ({ rule, nextRule, tenantRule }: Plan): Rule => {
  const rules = [rule, ...(nextRule === undefined ? [] : [nextRule]), ...(tenantRule === undefined ? [] : [tenantRule])]
  const fastest = rules.reduce(fasterOf)
  return { ...fastest, capacityTokens: Math.max(...rules.map(({ capacityTokens }) => capacityTokens)) }
}
