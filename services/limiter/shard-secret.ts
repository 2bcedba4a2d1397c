import { readFile } from 'node:fs/promises'

/** A secret that can be found by trying is none. */
const MIN_SECRET = 16

export type ReadShardSecret =
  | { readonly ok: true; readonly secret: string | undefined }
  | { readonly ok: false; readonly fault: string }

/** The secret in the file that `LIMITER_SHARD_SECRET_FILE` names; none where it names none. */
export const readShardSecret = async (path: string | undefined): Promise<ReadShardSecret> => {
  if (path === undefined) return { ok: true, secret: undefined }
  try {
    const secret = (await readFile(path, 'utf8')).trim()
    if (secret.length >= MIN_SECRET) return { ok: true, secret }
    return refused(`${path} holds fewer than ${MIN_SECRET} characters: put a random secret in it`)
  } catch (error) {
    return refused(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const refused = (problem: string) => ({ ok: false, fault: `LIMITER_SHARD_SECRET_FILE: ${problem}` }) as const
