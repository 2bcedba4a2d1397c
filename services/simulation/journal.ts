import type { Call } from '../conservation/history.ts'
import type { Check } from '../contract/check.ts'
import type { Decision } from '../contract/decision.ts'
import type { Checked, Limiter } from '../limiter/core/limiter.ts'
import type { GateDecision } from '../limiter-client/client.ts'
import type { ApiModel } from './model/api-model.ts'
import type { LimiterModel } from './model/limiter-model.ts'
import type { ProcessModel } from './model/process-model.ts'
import type { VirtualTime } from './model/virtual-time.ts'

/** What an API asked. */
export type Question = {
  /** Decisions of limiters about it. */
  readonly decided: Decision['verdict'][]
  isAnswered: boolean
}
export type Reset = {
  readonly client: string
  readonly invokeUs: number
  readonly responseUs: number
  readonly isDone: boolean
}
/** Of limiters that are gone. */
export type Gone = { readonly losses: number; readonly vetoes: number; readonly crowded: number }

/** Everything that was asked in a schedule, and what was answered. */
export type Journal = {
  /** What limiters decided, by bucket: a client's, or `tenant`. */
  readonly calls: ReadonlyMap<string, readonly Call[]>
  /** What APIs admitted without a limiter, by API and client. */
  readonly fallbacks: ReadonlyMap<string, readonly Call[]>
  readonly questions: readonly Question[]
  readonly resets: readonly Reset[]
  readonly gone: () => Gone
  /** What broke a promise at once, for a person to read. */
  readonly violations: string[]
  readonly checks: () => number
  readonly decidedLocally: () => number
  /** Of everything that was answered, and when: the same for the same seed. */
  readonly traceHash: () => number
  /** A limiter is asked; `question`: an API's, by its number, or a neighbour's. */
  readonly decide: (
    index: number,
    process: ProcessModel,
    limiter: Limiter,
    check: Check,
    question: number | 'a neighbour' | undefined,
  ) => Promise<Checked>
  readonly reset: (limiter: Limiter, check: Check) => Promise<void>
  readonly ask: (index: number, api: ApiModel, check: Check) => Promise<void>
  readonly died: (model: LimiterModel) => void
  /** From now on nothing goes wrong any more: everybody counts in the store, and every API asks a limiter. */
  readonly healed: () => void
}

/** A client may repeat a refusal for a second of its own clock. */
const REMEMBERED_US = 1_001_000

type Options = {
  readonly time: VirtualTime
  readonly limiterDeadlineUs: number
  readonly apiDeadlineUs: number
  readonly hasTenant: boolean
}

export const createJournal = ({ time, limiterDeadlineUs, apiDeadlineUs, hasTenant }: Options): Journal => {
  const calls = new Map<string, Call[]>()
  const fallbacks = new Map<string, Call[]>()
  const questions: Question[] = []
  const refusedAtUs = new Map<string, number>()
  const resets: Reset[] = []
  const violations: string[] = []
  let gone: Gone = { losses: 0, vetoes: 0, crowded: 0 }
  let isHealed = false
  let [checks, decidedLocally, hash] = [0, 0, 0x811c9dc5]

  const trace = (...numbers: readonly number[]) => {
    for (const number of numbers) hash = Math.imul(hash ^ (number | 0), 0x01000193)
  }
  const append = (to: Map<string, Call[]>, name: string, call: Call) => {
    const known = to.get(name)
    if (known === undefined) to.set(name, [call])
    else known.push(call)
  }
  /** What the code itself finds wrong breaks a promise as well. */
  const broken = (error: unknown) => void violations.push(String(error))

  const decide: Journal['decide'] = async (index, process, limiter, check, question) => {
    const wasHealed = isHealed
    const invokeUs = time.nowUs()
    const stoodUs = process.stoodStillUs()
    const checked = await limiter.shouldAllow(check)
    const responseUs = time.nowUs()
    if (!checked.ok) throw new Error('a sound check was refused')
    const { decision } = checked.answer
    const { verdict, basis } = decision
    const isLocal = basis === 'share'
    checks += 1
    decidedLocally += isLocal ? 1 : 0
    trace(invokeUs, responseUs, index, verdict === 'allow' ? 1 : 2, isLocal ? 1 : 2)
    const tookUs = responseUs - invokeUs - (process.stoodStillUs() - stoodUs)
    if (tookUs > 2 * limiterDeadlineUs) violations.push(`a limiter took ${tookUs} µs for a check`)
    if (wasHealed && basis !== 'bucket') violations.push(`limiter ${index} still says ${basis}`)
    if (question === undefined) violations.push('a limiter was asked what nobody asked')
    else if (question !== 'a neighbour') questions[question - 1]?.decided.push(verdict)
    const call = { invokeUs, responseUs, cost: check.cost, verdict, decidedLocally: isLocal }
    const isAbout = (policy: string) =>
      verdict === 'allow' || ('policy' in decision && String(decision.policy) === policy)
    if (isAbout('client')) append(calls, check.attributes.get('client') ?? '', call)
    if (hasTenant && isAbout('tenant')) append(calls, 'tenant', call)
    return checked
  }

  const judgeAnswer = (gate: GateDecision, question: Question, subject: string) => {
    const nowUs = time.nowUs()
    if (gate.source === 'limiter' && gate.decision.verdict === 'deny') refusedAtUs.set(subject, nowUs)
    if (gate.source === 'remembered' && !(nowUs - (refusedAtUs.get(subject) ?? 0) <= REMEMBERED_US))
      violations.push(`${subject} was refused, and no limiter has refused it lately`)
    if (gate.source === 'limiter' && !question.decided.includes(gate.decision.verdict))
      violations.push(`a limiter was said to ${gate.decision.verdict}, and none did`)
    if (question.decided.length > 2) violations.push(`one check was decided ${question.decided.length} times`)
  }

  const ask: Journal['ask'] = async (index, api, check) => {
    const wasHealed = isHealed
    const question: Question = { decided: [], isAnswered: false }
    questions.push(question)
    const invokeUs = time.nowUs()
    const stoodUs = api.process.stoodStillUs()
    const gate = await api.ask(check, questions.length)
    const responseUs = time.nowUs()
    question.isAnswered = true
    const { verdict, basis } = gate.decision
    trace(responseUs, index, verdict === 'allow' ? 1 : 2, gate.source.length)
    const tookUs = responseUs - invokeUs - (api.process.stoodStillUs() - stoodUs)
    if (tookUs > apiDeadlineUs + 2_000) violations.push(`API ${index} waited for ${tookUs} µs`)
    if (wasHealed && (gate.source === 'fallback' || basis !== 'bucket'))
      violations.push(`API ${index} still says ${gate.source === 'fallback' ? gate.reason : basis}`)
    const subject = `API ${index}, ${check.attributes.get('client')}`
    judgeAnswer(gate, question, subject)
    if (gate.source === 'fallback' && verdict === 'allow')
      append(fallbacks, subject, {
        invokeUs,
        responseUs,
        cost: check.cost,
        verdict,
        decidedLocally: true,
      })
  }

  return {
    calls,
    fallbacks,
    questions,
    resets,
    violations,
    gone: () => gone,
    checks: () => checks,
    decidedLocally: () => decidedLocally,
    traceHash: () => hash >>> 0,
    decide: async (...asked) => {
      try {
        return await decide(...asked)
      } catch (error) {
        broken(error)
        throw error
      }
    },
    ask: (...asked) => ask(...asked).catch(broken),
    reset: async (limiter, check) => {
      const client = check.attributes.get('client') ?? ''
      const asked = { client, invokeUs: time.nowUs(), responseUs: Number.POSITIVE_INFINITY, isDone: false }
      // It may be done though nobody is told.
      resets.push(asked)
      const { ok } = await limiter.reset(check, 'client')
      asked.responseUs = time.nowUs()
      asked.isDone = ok
    },
    died: ({ witnessed, crowded }) => {
      const { losses = 0, vetoes = 0 } = witnessed?.() ?? {}
      gone = { losses: gone.losses + losses, vetoes: gone.vetoes + vetoes, crowded: gone.crowded + crowded() }
    },
    healed: () => {
      isHealed = true
    },
  }
}
