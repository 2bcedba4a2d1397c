import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { ParsedCheck } from '../../contract/check.ts'
import type { TraceContext } from '../../contract/trace-context.ts'
import { type DecodedCheckFrame, idAfter } from '../../wire/check-frame.ts'
import type { StreamDecision } from '../../wire/decision-frame.ts'
import { type Waiting, waiterOf } from '../guard/waiting.ts'
import { createDecisionWriter } from './decision-writer.ts'
import type { ReadGate } from './read-gates.ts'

/**
 * Checks that one stream may have read but not yet seen the decisions leave for. At so many it is read no further, so that a
 * caller who does not read decisions costs at most these and one frame more.
 */
const MAX_UNANSWERED = 2_000

/** What a check that is not answered yet, or a decision that has not left, takes at most on average. */
const UNANSWERED_BYTES = 256

export type StreamCall = ServerDuplexStream<DecodedCheckFrame, Buffer>

type Options = {
  readonly call: StreamCall
  readonly gate: ReadGate
  /** Where a caller is counted while it does not read. */
  readonly waiting: Waiting
  /** Never rejects. */
  readonly decide: (id: number, parsed: ParsedCheck, trace: TraceContext | undefined) => Promise<StreamDecision>
  readonly onClose: () => void
}

export type OpenStream = {
  /** Tells the caller to send no more, answers what it sent, and ends when it half-closes. */
  readonly drain: () => void
  /** Ends as soon as everything that was read is answered. */
  readonly finish: () => void
}

/** Serves one call of ShouldAllowStream. */
export const openStream = ({ call, gate, waiting, decide, onClose }: Options): OpenStream => {
  let unanswered = 0
  let isFinishing = false
  let isClosed = false

  const endIfDone = () => {
    if (isFinishing && unanswered === 0 && !isClosed) call.end()
  }

  const finish = () => {
    isFinishing = true
    endIfDone()
  }

  const reader = waiterOf(gate.dismiss)
  let isReading = true
  const holdUnanswered = () => {
    if (!isReading && !isClosed) waiting.hold(reader, unanswered * UNANSWERED_BYTES)
  }

  const writer = createDecisionWriter({
    write: (frame, written) => {
      if (isClosed) return
      if (isReading) waiting.stay(reader)
      isReading = false
      call.write(frame, written)
      holdUnanswered()
    },
    onWritten: (decisions) => {
      waiting.rest(reader)
      isReading = true
      unanswered -= decisions
      if (unanswered < MAX_UNANSWERED) gate.open()
      endIfDone()
    },
  })

  const add = (decision: StreamDecision) => {
    if (!isClosed) writer.add(decision)
  }

  call.on('data', (frame: DecodedCheckFrame) => {
    if (!frame.ok) {
      gate.close()
      call.emit('error', { code: status.INVALID_ARGUMENT, details: frame.problem })
      return
    }
    unanswered += frame.checks.length
    holdUnanswered()
    if (unanswered >= MAX_UNANSWERED) gate.close()
    frame.checks.forEach((parsed, index) => {
      void decide(idAfter(frame.firstId, index), parsed, frame.traces?.get(index)).then(add)
    })
  })
  call.on('end', finish)
  call.on('close', () => {
    isClosed = true
    waiting.end(reader)
    onClose()
  })

  return { drain: writer.drain, finish }
}
