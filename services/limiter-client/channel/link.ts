/** What happens on a link. Nothing is told before `OpenLink` has returned, and nothing after `onEnd` or its disposal. */
export type LinkEvents = {
  /** The limiter has spoken: messages may be sent. */
  readonly onOpen: () => void
  readonly onMessage: (message: Buffer) => void
  /** Follows a `send` that was false: there is room again. */
  readonly onRoom: () => void
  readonly onPong: () => void
  /** The limiter is about to close the connection: messages still pass, but a new link is needed. */
  readonly onGoAway: () => void
  /** The last event. The reason is for a person to read. */
  readonly onEnd: (reason: string) => void
}

/** One connection to one limiter with one stream on it. It does not come back: a lost one is replaced by another. */
export type Link = Disposable & {
  /** False: it was taken, but nothing more is to be sent before `onRoom`. */
  readonly send: (message: Buffer) => boolean
  readonly ping: () => void
  /** Nothing more will be sent: the limiter answers what it has been asked, and the link ends. */
  readonly finish: () => void
}

export type OpenLink = (events: LinkEvents) => Link
