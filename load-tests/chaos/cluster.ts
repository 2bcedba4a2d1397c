/** What chaos asks of and does to a Redis Cluster of machines. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Machine } from '../../services/limiter/redis/machines.fixture.ts'

const execute = promisify(execFile)
const ASK_MS = 3_000
const RESHARD_MS = 30_000

/** Does not hold up this process, which carries the traffic. Rejects when the node does not answer. */
export const ask = async ({ address }: Machine, ...command: readonly string[]) => {
  const [host = '', port = ''] = address.split(':')
  const { stdout } = await execute('redis-cli', ['-h', host, '-p', port, ...command], { timeout: ASK_MS })
  return stdout.trim()
}

const asks = async (machine: Machine, command: readonly string[], holds: (answer: string) => boolean) => {
  try {
    return holds(await ask(machine, ...command))
  } catch {
    return false
  }
}

export const isPrimary = (machine: Machine) => asks(machine, ['ROLE'], (role) => role.startsWith('master'))

export const isWhole = async (machines: readonly Machine[]) => {
  const whole = (machine: Machine) =>
    asks(machine, ['CLUSTER', 'INFO'], (info) => info.includes('cluster_state:ok') && /slots_ok:16384/.test(info))
  return (await Promise.all(machines.map(whole))).every(Boolean)
}

/** Nobody is without a replica that follows, so that the next fault finds one. */
export const isReplicated = async (machines: readonly Machine[]) => {
  const replicated = (machine: Machine) =>
    asks(machine, ['INFO', 'replication'], (info) =>
      info.includes('role:slave') ? info.includes('master_link_status:up') : /^connected_slaves:[1-9]/m.test(info),
    )
  return (await Promise.all(machines.map(replicated))).every(Boolean)
}

const idOf = (machine: Machine) => ask(machine, 'CLUSTER', 'MYID')

/** A crash in the midst of it leaves a slot half moved; whoever moves slots mends that first, as redis-cli demands. */
const finishMoves = ({ address }: Machine) =>
  execute('redis-cli', ['--cluster', 'fix', address, '--cluster-yes'], { timeout: RESHARD_MS })

export const moveSlots = async (from: Machine, to: Machine, slots: number) => {
  await finishMoves(from)
  const ends = ['--cluster-from', await idOf(from), '--cluster-to', await idOf(to)]
  const command = ['--cluster', 'reshard', from.address, ...ends, '--cluster-slots', `${slots}`, '--cluster-yes']
  await execute('redis-cli', command, { timeout: RESHARD_MS })
}

export const createCluster = async (machines: readonly Machine[]) => {
  const addresses = machines.map(({ address }) => address)
  await execute('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'])
}
