import { domainName } from '../../contract/check.ts'
import type { Asked, Question } from './question.ts'

/** Questions, and what became of them by client. */
export const createQuestions = () => {
  const outcomes = new Map<string, string>()
  const question = (client: string, endUs = Number.POSITIVE_INFINITY): Question => ({
    check: { domain: domainName('api'), attributes: new Map([['client', client]]), cost: 1 },
    subject: 0,
    endUs,
    settle: (asked) => {
      if (outcomes.has(client)) throw new Error(`${client} was told twice`)
      outcomes.set(client, outcomeOf(asked))
    },
    trace: undefined,
    isRepeat: false,
  })
  return { question, outcomes }
}

const outcomeOf = (asked: Asked) => (asked.ok ? 'answered' : asked.failure)
