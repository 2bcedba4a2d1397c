import type { Link, LinkEvents } from '../../limiter-client/channel/link.ts'
import { createPipe } from './pipe.ts'
import type { ProcessModel } from './process-model.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Between a limiter and all who ask it. `deaf`: nothing reaches it, `mute`: nothing comes from it, `silent`: neither, until that is over; `slow`. */
export type WayCondition = 'well' | 'deaf' | 'mute' | 'silent' | 'slow'

/** A connection, as the limiter has it. */
export type Accepted = {
  readonly send: (message: Buffer) => void
  /** Both ends are told. */
  readonly end: (reason: string) => void
}
/** What happens on it; all of it arrives at the limiter's process. */
export type Server = {
  readonly process: ProcessModel
  readonly accept: (connection: Accepted) => {
    readonly onMessage: (message: Buffer) => void
    readonly onFinish: () => void
    readonly onClose: () => void
  }
}

export type NetworkModel = {
  /** Whoever listens there from now on; undefined: nobody, and every connection to it is reset. */
  readonly listen: (address: string, server: Server | undefined) => void
  readonly open: (from: ProcessModel, address: string, events: LinkEvents) => Link
  readonly setCondition: (address: string, condition: WayCondition) => void
  /** Every connection to it is reset, and what is under way on it is lost. */
  readonly reset: (address: string) => void
  /** Every connection to it is dropped on the way, and nobody is told. */
  readonly forget: (address: string) => void
}

type Options = {
  readonly time: VirtualTime
  readonly random: Random
  /** The part of the messages after which a sender has to wait for room. */
  readonly narrowPart: number
}

type Place = {
  condition: WayCondition
  server: Server | undefined
  readonly resets: Set<() => void>
  readonly forgets: Set<() => void>
  /** What goes on when the way is free again. */
  held: (() => void)[]
}

const blocksWayThere = (condition: WayCondition) => condition === 'deaf' || condition === 'silent'
const blocksWayBack = (condition: WayCondition) => condition === 'mute' || condition === 'silent'

export const createNetworkModel = ({ time, random, narrowPart }: Options): NetworkModel => {
  const places = new Map<string, Place>()
  const placeOf = (address: string) => {
    const known = places.get(address)
    if (known !== undefined) return known
    const place: Place = { condition: 'well', server: undefined, resets: new Set(), forgets: new Set(), held: [] }
    places.set(address, place)
    return place
  }
  const reset = (address: string) => {
    const { resets } = placeOf(address)
    for (const one of [...resets]) one()
    resets.clear()
  }

  return {
    listen: (address, server) => {
      placeOf(address).server = server
      if (server === undefined) reset(address)
    },
    reset,
    forget: (address) => {
      const { forgets } = placeOf(address)
      for (const one of forgets) one()
      forgets.clear()
    },
    setCondition: (address, condition) => {
      const place = placeOf(address)
      place.condition = condition
      const { held } = place
      place.held = []
      for (const goOn of held) goOn()
    },
    open: (from, address, events) => {
      const place = placeOf(address)
      let isForgotten = false
      const pipe = (isBlockedBy: (condition: WayCondition) => boolean) => {
        const push = createPipe(time, random, {
          isBlocked: () => isBlockedBy(place.condition),
          isSlow: () => place.condition === 'slow',
          whenFree: (goOn) => void place.held.push(goOn),
        })
        return (deliver: () => void) => push(() => isForgotten || deliver())
      }
      const there = pipe(blocksWayThere)
      const back = pipe(blocksWayBack)
      const forget = () => {
        isForgotten = true
        close()
      }
      place.forgets.add(forget)
      let isOver = false
      let accepted: ReturnType<Server['accept']> | undefined
      let server: Server | undefined

      const tell = (happen: () => void) =>
        from.receive(() => {
          if (!isOver) happen()
        })
      const close = () => {
        place.resets.delete(breakOff)
        place.forgets.delete(forget)
        if (accepted !== undefined) server?.process.receive(accepted.onClose)
        accepted = undefined
      }
      const end = (reason: string) =>
        tell(() => {
          isOver = true
          events.onEnd(reason)
        })
      /** Nobody hears of it over a way that is blocked. */
      const breakOff = () => {
        close()
        back(() => end('read ECONNRESET'))
      }

      const connection: Accepted = {
        send: (message) => back(() => tell(() => events.onMessage(message))),
        end: (reason) => {
          close()
          back(() => end(reason))
        },
      }
      there(() => {
        if (isOver) return
        server = place.server
        if (server === undefined) return back(() => end('connect ECONNREFUSED'))
        const { process, accept } = server
        place.resets.add(breakOff)
        // The kernel takes the connection; it is the process that speaks first.
        process.receive(() => {
          if (isOver || !place.resets.has(breakOff)) return
          accepted = accept(connection)
          back(() => tell(events.onOpen))
        })
      })
      const arrive = (happen: (by: NonNullable<typeof accepted>) => void) =>
        there(() => {
          server?.process.receive(() => {
            if (accepted !== undefined) happen(accepted)
          })
        })

      return {
        send: (message) => {
          arrive(({ onMessage }) => onMessage(message))
          if (!random.chance(narrowPart)) return true
          time.afterUs(random.whole(0, 20_000), () => tell(events.onRoom))
          return false
        },
        ping: () => arrive(() => back(() => tell(events.onPong))),
        finish: () => arrive(({ onFinish }) => onFinish()),
        [Symbol.dispose]: () => {
          isOver = true
          place.forgets.delete(forget)
          there(() => close())
        },
      }
    },
  }
}
