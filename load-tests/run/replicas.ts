import { fileURLToPath } from 'node:url'
import { freePort, type RunningService, startService } from '../../services/platform/service.fixture.ts'
import type { MetricsPage } from '../lib/process-reading.ts'

type Settings = Readonly<Record<string, string>>

export type ReplicaSettings = {
  /** For the n-th limiter and API to be started, from 0. */
  readonly limiter: (index: number) => Settings
  readonly api: (index: number) => Settings
  /** Where the programs are. */
  readonly services: string
  /** Told the ports of the APIs that take requests, whenever that changes. */
  readonly onServing: (apiPorts: readonly number[]) => void
}

type Replica = {
  readonly limiter: RunningService
  readonly api: RunningService
  readonly limiterPort: number
  readonly apiPort: number
  readonly admin: readonly [limiter: AdminPort, api: AdminPort]
}

type AdminPort = { readonly name: string; readonly url: string }

export type Replicas = AsyncDisposable & {
  readonly scaleTo: (count: number) => Promise<void>
  readonly limiterPorts: () => readonly number[]
  readonly pids: () => readonly number[]
  /** Of all that serve, and of those that have ended as they last were. */
  readonly pages: () => Promise<readonly MetricsPage[]>
}

export const sources = fileURLToPath(new URL('../../services/', import.meta.url))

/** Limiters and APIs as processes: each API asks the limiter beside it, as with a sidecar, and all limiters share a store. */
export const createReplicas = ({ limiter, api, services, onServing }: ReplicaSettings): Replicas => {
  const serving: Replica[] = []
  const ended: MetricsPage[] = []
  let started = 0
  const tell = () => onServing(serving.map(({ apiPort }) => apiPort))

  const open = async (): Promise<Replica> => {
    const index = started
    started += 1
    const [limiterPort, limiterAdmin, apiPort, apiAdmin] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ]
    const runningLimiter = await openService(`${services}limiter/main.ts`, {
      LIMITER_ADDRESS: `127.0.0.1:${limiterPort}`,
      LIMITER_ADMIN_ADDRESS: `127.0.0.1:${limiterAdmin}`,
      LOG_LEVEL: 'error',
      ...limiter(index),
    })
    const runningApi = await openService(`${services}api/main.ts`, {
      API_ADDRESS: `127.0.0.1:${apiPort}`,
      API_ADMIN_ADDRESS: `127.0.0.1:${apiAdmin}`,
      API_LIMITER: `127.0.0.1:${limiterPort}`,
      LOG_LEVEL: 'error',
      ...api(index),
    })
    return {
      limiter: runningLimiter,
      api: runningApi,
      limiterPort,
      apiPort,
      admin: [
        { name: `limiter ${index}`, url: `http://127.0.0.1:${limiterAdmin}/metrics` },
        { name: `api ${index}`, url: `http://127.0.0.1:${apiAdmin}/metrics` },
      ],
    }
  }

  /** Out of the ingress, then the API, then the limiter that it asks: each finishes what it has begun. */
  const close = async (replica: Replica) => {
    serving.splice(serving.indexOf(replica), 1)
    tell()
    const [limiterPage, apiPage] = replica.admin
    ended.push(await read(apiPage))
    const apiEnd = await replica.api.stop('SIGTERM')
    ended.push(await read(limiterPage))
    const limiterEnd = await replica.limiter.stop('SIGTERM')
    for (const { code } of [apiEnd, limiterEnd])
      if (code !== 0)
        throw new Error(`a replica ended with ${code}: ${replica.api.output()}${replica.limiter.output()}`)
  }

  return {
    scaleTo: async (count) => {
      // One after the other: to start five at once would be a fault of its own on a small machine.
      while (serving.length < count) {
        serving.push(await open())
        tell()
      }
      while (serving.length > count) {
        const last = serving.at(-1)
        if (last !== undefined) await close(last)
      }
    },
    limiterPorts: () => serving.map(({ limiterPort }) => limiterPort),
    pids: () => serving.flatMap(({ limiter: one, api: other }) => [one.process.pid ?? 0, other.process.pid ?? 0]),
    pages: async () => [...ended, ...(await Promise.all(serving.flatMap(({ admin }) => admin).map(read)))],
    [Symbol.asyncDispose]: async () => {
      for (const replica of serving.toReversed()) {
        await replica.api[Symbol.asyncDispose]()
        await replica.limiter[Symbol.asyncDispose]()
      }
    },
  }
}

/** On a machine that is busy with other things a start may run into a deadline of its own: it is tried again. */
const MOST_STARTS = 3

const openService = async (program: string, settings: Settings, starts = 1): Promise<RunningService> => {
  const started = await startService(program, settings)
  if (started.ok) return started.service
  if (starts === MOST_STARTS) throw new Error(`${program} did not start: ${started.output}`)
  return openService(program, settings, starts + 1)
}

const read = async ({ name, url }: AdminPort): Promise<MetricsPage> => {
  // On a connection of its own: one that was kept may end just when it is used again.
  const page = await fetch(url, { headers: { connection: 'close' } })
  return { name, text: await page.text() }
}
