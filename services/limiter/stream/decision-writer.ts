import { encodeDecisionFrames, encodeDrainingFrame, type StreamDecision } from '../../wire/decision-frame.ts'

type Options = {
  /** `written` is called when the frame has left for the caller, and never if the caller is gone. */
  readonly write: (frame: Buffer, written: () => void) => void
  /** So many decisions have left. */
  readonly onWritten: (decisions: number) => void
}

/**
 * Gathers decisions into frames: those of one turn of the event loop leave together at its end, and those that come while the
 * caller is still taking the last frame leave when it has.
 */
export const createDecisionWriter = ({ write, onWritten }: Options) => {
  let decided: StreamDecision[] = []
  let isDraining = false
  let isBusy = false

  const flush = () => {
    const leaving = decided
    decided = []
    const frames = [...(isDraining ? [encodeDrainingFrame()] : []), ...encodeDecisionFrames(leaving)]
    isDraining = false
    for (const [index, frame] of frames.entries())
      write(frame, () => {
        if (index < frames.length - 1) return
        isBusy = decided.length > 0 || isDraining
        onWritten(leaving.length)
        if (isBusy) flush()
      })
  }

  const schedule = () => {
    if (isBusy) return
    isBusy = true
    setImmediate(flush)
  }

  return {
    add: (decision: StreamDecision) => {
      decided.push(decision)
      schedule()
    },
    /** Tells the caller that the limiter drains. */
    drain: () => {
      isDraining = true
      schedule()
    },
  }
}
