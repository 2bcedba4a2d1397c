import { fork } from 'node:child_process'
import { on } from 'node:events'
import { availableParallelism } from 'node:os'
import { readCpuUs, readMachineCpuUs } from './cpu-time.ts'
import type { Installation } from './installation.ts'
import type { Order, Report } from './load-client.ts'
import type { Load } from './loads.ts'
import type { Measurement } from './measurement.ts'
import { readRedisWork } from './redis-work.ts'
import { type Entry, type WayName, ways } from './ways.ts'

type Times = Pick<Order, 'warmUpMs' | 'measureMs'>

/** Measures one way under one load; undefined where the way is not on this machine. */
export type Measure = (installation: Installation, load: Load, way: WayName) => Promise<Measurement | undefined>

/** The process that asks, the same one for all. */
export const startMeasuring = ({ warmUpMs, measureMs }: Times): { readonly measure: Measure } & Disposable => {
  const client = fork(new URL('load-client.ts', import.meta.url))
  // Kept until they are asked for: on a busy machine two of them arrive in one turn of the loop.
  const reports = on(client, 'message', { close: ['exit'] })
  const report = async (): Promise<Report> => {
    const { done, value } = await reports.next()
    if (done === true) throw new Error('the process that asks has ended')
    const [message] = value as [Report]
    return message
  }

  const measure: Measure = async (installation, { name, part, pace, spread }, way) => {
    const { addresses, pids, redisPorts } = installation
    const server = serverPid(pids, way)
    const readAll = () => ({
      clientUs: readCpuUs(client.pid ?? 0),
      limiterUs: server === undefined ? 0 : readCpuUs(server),
      redis: redisPorts.map(readRedisWork),
      machineUs: readMachineCpuUs(),
      atMs: performance.now(),
    })
    const order: Order = { way, addresses, pace, spread, warmUpMs, measureMs }
    client.send(order)
    if ((await report()).kind === 'missing') return undefined
    const before = readAll()
    const done = await report()
    const after = readAll()
    if (done.kind !== 'done') throw new Error(`${way}: the process that asks answered out of turn`)
    const { passed, refused, local, failed, ...latencies } = done.counted
    const checks = passed + refused + local + failed
    const cpuOfRedis = after.redis.map(({ cpuUs }, index) => (cpuUs - (before.redis[index]?.cpuUs ?? 0)) / checks)
    const commands = after.redis.map(({ commands: all }, index) => all - (before.redis[index]?.commands ?? 0))
    const [clientUs, limiterUs] = [
      (after.clientUs - before.clientUs) / checks,
      (after.limiterUs - before.limiterUs) / checks,
    ]
    const redisUs = sum(cpuOfRedis)
    const elapsedUs = (after.atMs - before.atMs) * 1000
    const othersUs = after.machineUs - before.machineUs - (clientUs + limiterUs + redisUs) * checks
    return {
      part,
      load: name,
      way,
      checksPerSecond: checks / (elapsedUs / 1_000_000),
      clientUs,
      ...(server !== undefined && { limiterUs }),
      redisUs,
      busiestRedisUs: Math.max(...cpuOfRedis),
      redisCommands: sum(commands) / checks,
      othersPart: Math.max(0, othersUs / (elapsedUs * availableParallelism())),
      ...latencies,
      refused,
      local,
      failed,
    }
  }
  return {
    measure,
    [Symbol.dispose]: () => {
      client.disconnect()
      client.kill()
    },
  }
}

const serverPid = (pids: Installation['pids'], way: WayName) => {
  const entry: Entry = ways[way]
  return entry.server && pids[entry.server]
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
