import { judge } from '../conservation/judge.ts'
import { unexplainedRefusals } from '../conservation/unexplained-refusals.ts'
import { perUs, type Told } from './told.ts'

/** A limiter that refuses by itself looks so often whether an operator has filled the bucket. */
const RESET_SEEN_WITHIN_US = 1_100_000
const NO_BOUND = { overTokens: 0, underTokens: 0 }

/** Who is refused has spent it, and what has had time to fill is not empty. */
export const refusalFaults = ({ plan, journal, faults, healedUs }: Told): readonly string[] => {
  const { rule, nextRule, tenantRule } = plan
  if (tenantRule !== undefined) return []
  const clients = [...journal.calls]
  const slowest = nextRule !== undefined && perUs(nextRule) < perUs(rule) ? nextRule : rule
  const stillEmpty = clients.flatMap(([client, calls]) =>
    slowest.periodS === 1 &&
    calls.some(({ invokeUs, verdict }) => invokeUs >= healedUs + 5_000_000 && verdict === 'deny')
      ? [`${client} has had time to fill, and was refused`]
      : [],
  )
  const isQuiet = journal.decidedLocally() === 0 && plan.losses === 0 && faults.ended === 0
  if (!isQuiet || plan.clocks !== 'true' || nextRule !== undefined) return stillEmpty
  return clients.flatMap(([client, calls]) => {
    const resets = journal.resets.filter((reset) => reset.client === client)
    const last = resets.at(-1)
    if (last === undefined)
      return judge({ rule, calls, faultBound: NO_BOUND }).lawful ? [] : [`${client} broke the law without a fault`]
    if (!last.isDone || resets.length > 1) return []
    const since = calls.filter(({ verdict, invokeUs, responseUs }) =>
      verdict === 'deny' ? invokeUs >= last.responseUs + RESET_SEEN_WITHIN_US : responseUs >= last.invokeUs,
    )
    return unexplainedRefusals({ rule, calls: since, faultBound: NO_BOUND }).length === 0
      ? []
      : [`${client} was refused after its bucket had been filled`]
  })
}
