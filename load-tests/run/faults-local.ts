import { readFile } from 'node:fs/promises'
import { until } from '../../services/platform/service.fixture.ts'
import type { Surroundings } from './control.ts'
import type { LocalInstallation } from './local-installation.ts'
import { askRedis, isHealthy, isPrimary, pidOf } from './redis-nodes.ts'

/** Faults on the processes that this run started. */
export const localSurroundings = ({
  replicas,
  cluster,
}: Pick<LocalInstallation, 'replicas' | 'cluster'>): Required<Surroundings> => {
  const ports = cluster.nodes.map(({ port }) => port)
  let stopped: readonly number[] = []

  const makeFault = async (fault: string): Promise<string> => {
    const count = /^replicas-(\d+)$/.exec(fault)?.[1]
    if (count !== undefined) {
      await replicas.scaleTo(Number(count))
      return `${replicas.limiterPorts().length} limiters serve`
    }
    switch (fault) {
      case 'store-away':
        stopped = await Promise.all(ports.map(pidOf))
        for (const pid of stopped) process.kill(pid, 'SIGSTOP')
        await until(async () => (await Promise.all(stopped.map(isStopped))).every(Boolean))
        return `${stopped.length} Redis processes stand still`
      case 'store-back':
        for (const pid of stopped) process.kill(pid, 'SIGCONT')
        await until(async () => (await Promise.all(ports.map(isHealthy))).every(Boolean))
        return 'all Redis nodes find their cluster well'
      case 'kill-primary':
        return killPrimary(ports)
      default:
        throw new Error(`nobody here knows how to make the fault ${fault}`)
    }
  }
  return { pages: replicas.pages, makeFault }
}

const isStopped = async (pid: number) => /^State:\s+T/m.test(await readFile(`/proc/${pid}/status`, 'utf8'))

const countKeys = async (port: number, pattern: string) =>
  (await askRedis(port, 'KEYS', pattern)).split('\n').filter((key) => key !== '').length

/** The primary that holds the bucket of the hot client; there when another node has taken its place. */
const killPrimary = async (ports: readonly number[]) => {
  const primaries = await Promise.all(ports.map(async (port) => ((await isPrimary(port)) ? [port] : [])))
  const sizes = await Promise.all(
    primaries.flat().map(async (port) => ({ port, keys: await countKeys(port, '*hot-*') })),
  )
  const [victim] = sizes.toSorted((a, b) => b.keys - a.keys)
  if (victim === undefined || victim.keys === 0) throw new Error('no primary holds a bucket')
  const replicas = ports.filter((port) => !primaries.flat().includes(port))
  process.kill(await pidOf(victim.port), 'SIGKILL')
  const promoted = async () => (await Promise.all(replicas.map(isPrimary))).some(Boolean)
  await until(promoted, 30_000)
  return `the primary on port ${victim.port} with the bucket is dead, a replica has taken over`
}
