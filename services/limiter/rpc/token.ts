import { createHash, timingSafeEqual } from 'node:crypto'

/** Read anew for each call, so that a token can be replaced without a restart. `undefined`: cannot be read, nobody gets in. */
export type ReadToken = () => Promise<string | undefined>

/** Whether what was sent as `authorization` is `Bearer <token>`. */
export const carriesToken = async (authorization: unknown, readToken: ReadToken) => {
  const token = await readToken()
  // Digests are of one length, so that the comparison tells nothing of the token's.
  return (
    token !== undefined &&
    typeof authorization === 'string' &&
    timingSafeEqual(digest(authorization), digest(`Bearer ${token}`))
  )
}

const digest = (text: string) => createHash('sha256').update(text).digest()
