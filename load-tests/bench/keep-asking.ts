import { Pool } from 'undici'

export type Load = {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The status that every answer must have. */
  readonly status: number
  readonly connections: number
  readonly durationMs: number
}

export type Answers = { readonly seconds: number; readonly latenciesMs: readonly number[] }

/** Asks on every connection as soon as the answer before is there. Any other answer ends it: the figures would be of something else. */
export const keepAsking = async ({ origin, path, headers, status, ...load }: Load): Promise<Answers> => {
  await using pool = closing(new Pool(origin, { connections: load.connections, pipelining: 1 }))
  const latenciesMs: number[] = []
  const startMs = performance.now()
  const endMs = startMs + load.durationMs
  const ask = async () => {
    for (let sentMs = performance.now(); sentMs < endMs; ) {
      const { statusCode, body } = await pool.request({ path, method: 'GET', headers })
      await body.dump()
      if (statusCode !== status) throw new Error(`${origin}${path} answered ${statusCode} instead of ${status}`)
      const nowMs = performance.now()
      latenciesMs.push(nowMs - sentMs)
      sentMs = nowMs
    }
  }
  await Promise.all(Array.from({ length: load.connections }, ask))
  return { seconds: (performance.now() - startMs) / 1000, latenciesMs }
}

const closing = (pool: Pool) => Object.assign(pool, { [Symbol.asyncDispose]: () => pool.close() })
