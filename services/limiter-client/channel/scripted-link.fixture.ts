import { decodeCheckFrame, idAfter } from '../../wire/check-frame.ts'
import { encodeDecisionFrames, encodeDrainingFrame } from '../../wire/decision-frame.ts'
import type { LinkEvents, OpenLink } from './link.ts'

/** A link whose other end is the test. */
export type ScriptedLink = {
  readonly events: LinkEvents
  /** The ids of the checks of each message. */
  readonly frames: number[][]
  readonly clients: string[]
  readonly pings: () => number
  readonly state: () => 'in use' | 'finished' | 'disposed'
  /** What `send` returns from now on. */
  setRoom: (hasRoom: boolean) => void
  readonly answer: (...ids: readonly number[]) => void
  readonly drain: () => void
}

/** Links that open when the test says so, in the order in which they were asked for. */
export const createScriptedLinks = () => {
  const links: ScriptedLink[] = []
  const openLink: OpenLink = (events) => {
    let hasRoom = true
    let pings = 0
    let state: ReturnType<ScriptedLink['state']> = 'in use'
    const frames: number[][] = []
    const clients: string[] = []
    links.push({
      events,
      frames,
      clients,
      pings: () => pings,
      state: () => state,
      setRoom: (next) => {
        hasRoom = next
      },
      answer: (...ids) => {
        const decisions = ids.map((id) => ({ id, ok: true, answer: { decision: exempt, shadows: [] } }) as const)
        for (const frame of encodeDecisionFrames(decisions)) events.onMessage(frame)
      },
      drain: () => events.onMessage(encodeDrainingFrame()),
    })
    return {
      send: (message) => {
        const frame = decodeCheckFrame(message)
        if (!frame.ok) throw new Error('no frame')
        frames.push(frame.checks.map((_, index) => idAfter(frame.firstId, index)))
        for (const parsed of frame.checks) if (parsed.ok) clients.push(parsed.check.attributes.get('client') ?? '')
        return hasRoom
      },
      ping: () => {
        pings += 1
      },
      finish: () => {
        state = 'finished'
      },
      [Symbol.dispose]: () => {
        state = 'disposed'
      },
    }
  }
  const link = (index: number) => {
    const one = links[index]
    if (one === undefined) throw new Error(`${links.length} links were opened`)
    return one
  }
  return { openLink, link, opened: () => links.length }
}

const exempt = { verdict: 'allow', basis: 'exempt' } as const
