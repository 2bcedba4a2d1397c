import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_DEADLINE_MS = 60_000
const ANSWER_DEADLINE_MS = 15_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** The API server of the cluster. */
export type ApiServer = AsyncDisposable & {
  /** What it answers to a path; throws where that is no 200. */
  readonly read: (path: string) => Promise<string>
}

/**
 * By one `kubectl proxy` on a socket that is this user's alone. Whoever looks at pods every second by a kubectl of its own for each
 * look keeps a small machine busy with nothing else.
 */
export const openApiServer = async (): Promise<ApiServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-e2e-'))
  const socketPath = join(folder, 'api.sock')
  const proxy = spawn('kubectl', ['proxy', `--unix-socket=${socketPath}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const close = async () => {
    agent.destroy()
    if (proxy.exitCode === null && proxy.signalCode === null && proxy.kill()) await once(proxy, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  try {
    // Its first line says that it serves.
    await Promise.race([
      once(proxy.stdout, 'data', { signal: AbortSignal.timeout(START_DEADLINE_MS) }),
      once(proxy, 'exit').then(() => Promise.reject(new Error('kubectl proxy has ended'))),
    ])
  } catch (error) {
    await close()
    throw error
  }
  return { read: (path) => readPath({ socketPath, agent, path }), [Symbol.asyncDispose]: close }
}

type Question = { readonly socketPath: string; readonly agent: Agent; readonly path: string }

const readPath = ({ path, ...by }: Question) =>
  new Promise<string>((resolve, reject) => {
    const request = get({ ...by, path, signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (text.length > MAX_ANSWER_BYTES) request.destroy(new Error(`${path}: the answer is too long`))
      })
      response.once('error', reject)
      response.once('end', () => {
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 400)}`))
      })
    })
    request.once('error', reject)
  })
