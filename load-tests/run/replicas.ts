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

type Replica = { readonly limiter: Opened; readonly api: Opened }

type Opened = { readonly service: RunningService; readonly port: number; readonly admin: AdminPort }

type AdminPort = { readonly name: string; readonly url: string }

export type Replicas = AsyncDisposable & {
  readonly scaleTo: (count: number) => Promise<void>
  readonly limiterPorts: () => readonly number[]
  /** Of all that serve, and of those that have ended as they last were. */
  readonly pages: () => Promise<readonly MetricsPage[]>
}

export const sources = fileURLToPath(new URL('../../services/', import.meta.url))

/** Limiters and APIs as processes: each API asks the limiter beside it, as with a sidecar, and all limiters share a store. */
export const createReplicas = ({ limiter, api, services, onServing }: ReplicaSettings): Replicas => {
  const serving: Replica[] = []
  const ended: MetricsPage[] = []
  let started = 0
  const tell = () => onServing(serving.map(({ api: { port } }) => port))

  const open = async (): Promise<Replica> => {
    const index = started
    started += 1
    await using opened = new AsyncDisposableStack()
    const runningLimiter = await openService(`limiter ${index}`, `${services}limiter/main.ts`, (address, admin) => ({
      LIMITER_ADDRESS: address,
      LIMITER_ADMIN_ADDRESS: admin,
      ...limiter(index),
    }))
    opened.use(runningLimiter.service)
    const runningApi = await openService(`api ${index}`, `${services}api/main.ts`, (address, admin) => ({
      API_ADDRESS: address,
      API_ADMIN_ADDRESS: admin,
      API_LIMITER: `127.0.0.1:${runningLimiter.port}`,
      ...api(index),
    }))
    opened.move()
    return { limiter: runningLimiter, api: runningApi }
  }

  /** Out of the ingress, then the API, then the limiter that it asks: each finishes what it has begun. */
  const close = async (replica: Replica) => {
    serving.splice(serving.indexOf(replica), 1)
    tell()
    const unsound: string[] = []
    for (const { service, admin } of [replica.api, replica.limiter]) {
      ended.push(await read(admin))
      const { code } = await service.stop('SIGTERM')
      if (code !== 0) unsound.push(`${admin.name} ended with ${code}: ${service.output()}`)
    }
    if (unsound.length > 0) throw new Error(unsound.join('\n'))
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
    limiterPorts: () => serving.map(({ limiter: { port } }) => port),
    pages: async () => {
      const running = serving.flatMap((replica) => [replica.limiter.admin, replica.api.admin])
      return [...ended, ...(await Promise.all(running.map(read)))]
    },
    [Symbol.asyncDispose]: async () => {
      for (const replica of serving.toReversed()) {
        await replica.api.service[Symbol.asyncDispose]()
        await replica.limiter.service[Symbol.asyncDispose]()
      }
    },
  }
}

/**
 * On a machine that is busy with other things a start may run into a deadline of its own, and a port that was free may be the near end
 * of somebody's connection a moment later: it is tried again, on other ports.
 */
const MOST_STARTS = 3

const openService = async (
  name: string,
  program: string,
  settingsAt: (address: string, admin: string) => Settings,
  starts = 1,
): Promise<Opened> => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const settings = settingsAt(`127.0.0.1:${port}`, `127.0.0.1:${adminPort}`)
  const started = await startService(program, { LOG_LEVEL: 'error', ...settings })
  if (started.ok)
    return { service: started.service, port, admin: { name, url: `http://127.0.0.1:${adminPort}/metrics` } }
  if (starts === MOST_STARTS) throw new Error(`${name} did not start: ${started.output}`)
  return openService(name, program, settingsAt, starts + 1)
}

const read = async ({ name, url }: AdminPort): Promise<MetricsPage> => {
  // On a connection of its own: one that was kept may end just when it is used again.
  const page = await fetch(url, { headers: { connection: 'close' } })
  return { name, text: await page.text() }
}
