import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An empty folder that is gone after the test. */
export const openTemporaryFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'weir-policies-'))
  return {
    at: (...names: readonly string[]) => join(path, ...names),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
