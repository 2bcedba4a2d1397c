/** Redis servers of which each is a machine of its own, as far as the network goes: a namespace with a cable that can be pulled. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../platform/service.fixture.ts'

const PORT = 7000

export type Machine = {
  readonly address: string
  readonly cli: (...command: readonly string[]) => string
  /** What is written here reaches no replica any more, though all stay connected. */
  readonly stallReplication: () => void
  /** The machine is gone at once: what its kernel had not sent yet is lost as well. */
  readonly crash: () => Promise<void>
  /** Its process ends and comes back empty at once, before anybody takes over. */
  readonly restartEmpty: () => Promise<void>
  /** Comes back, empty. */
  readonly repair: () => Promise<void>
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void
  /** The process ends; whoever connects is refused. */
  readonly kill: () => Promise<void>
  /** The process begins again with what it saved; it need not answer yet. */
  readonly begin: (more?: readonly string[]) => void
  readonly untilAnswering: () => Promise<void>
  /** The cable is pulled: nobody on either side is told. */
  readonly unplug: () => void
  readonly plugIn: () => void
  /** It hears what it is asked and does it; nobody hears what it answers. */
  readonly mute: () => void
  readonly unmute: () => void
}

const sh = (program: string, ...options: readonly string[]) =>
  execFileSync(program, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

const CLUSTERED = [
  '--cluster-enabled yes --cluster-config-file nodes.conf --cluster-node-timeout 2000',
  '--cluster-require-full-coverage no --cluster-replica-validity-factor 0 --repl-diskless-sync-delay 0',
].flatMap((options) => options.split(' '))

/** Nodes for a cluster unless `options` say otherwise. Needs root, `ip`, `iptables` and `nft`. */
export const startMachines = async (
  count: number,
  options: readonly string[] = CLUSTERED,
): Promise<AsyncDisposable & { readonly machines: readonly Machine[] }> => {
  // A network of its own for each run, so that two of them do not meet.
  const { bridge, net } = addBridge()
  await using stack = new AsyncDisposableStack()
  stack.defer(() => void sh('ip', 'link', 'del', bridge))
  sh('ip', 'addr', 'add', `${net}.1/24`, 'dev', bridge)
  sh('ip', 'link', 'set', bridge, 'up')
  const machines: Machine[] = []
  for (let index = 0; index < count; index += 1)
    machines.push(await place(stack, { bridge, name: `${bridge}n${index}`, ip: `${net}.${index + 10}`, options }))
  const kept = stack.move()
  return { machines, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
}

/** Under a name that nobody has. */
const addBridge = (attempts = 20): { readonly bridge: string; readonly net: string } => {
  const run = Math.floor(Math.random() * 200) + 20
  const bridge = `weir${run}`
  try {
    sh('ip', 'link', 'add', bridge, 'type', 'bridge')
  } catch (error) {
    if (attempts > 1) return addBridge(attempts - 1)
    throw error
  }
  return { bridge, net: `10.77.${run}` }
}

type Place = {
  readonly bridge: string
  readonly name: string
  readonly ip: string
  readonly options: readonly string[]
}

const place = async (stack: AsyncDisposableStack, { bridge, name, ip, options }: Place): Promise<Machine> => {
  sh('ip', 'netns', 'add', name)
  stack.defer(() => void sh('ip', 'netns', 'del', name))
  const inside = (...command: readonly string[]) => sh('ip', 'netns', 'exec', name, ...command)
  sh('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  sh('ip', 'link', 'set', name, 'master', bridge, 'up')
  inside('ip', 'addr', 'add', `${ip}/24`, 'dev', 'eth0')
  inside('ip', 'link', 'set', 'eth0', 'up')
  inside('ip', 'link', 'set', 'lo', 'up')
  const folder = mkdtempSync(join(tmpdir(), 'weir-machine-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))

  let child: ChildProcess | undefined
  const cli = (...command: readonly string[]) => inside('redis-cli', '-h', ip, '-p', `${PORT}`, ...command).trim()
  const begin = (more: readonly string[] = []) => {
    const fixed =
      `--port ${PORT} --bind ${ip} 127.0.0.1 --protected-mode no --dir ${folder} --save  --appendonly no`.split(' ')
    child = spawn('ip', ['netns', 'exec', name, 'redis-server', ...fixed, ...options, ...more], { stdio: 'ignore' })
  }
  const untilAnswering = () => until(() => isAnswering(cli))
  const startProcess = async () => {
    begin()
    await untilAnswering()
  }
  const kill = async () => {
    const last = child
    if (last === undefined || last.exitCode !== null || last.signalCode !== null) return
    const ended = new Promise((resolve) => last.once('exit', resolve))
    // `ip netns exec` becomes the server: it is the same process.
    last.kill('SIGKILL')
    await ended
  }
  stack.defer(kill)
  await startProcess()
  return {
    address: `${ip}:${PORT}`,
    cli,
    stallReplication: () => {
      // Replicas are connected to this port; the other nodes talk to the one above it.
      for (const replica of replicasOf(cli))
        inside('iptables', '-A', 'OUTPUT', '-p', 'tcp', '-d', replica, '--sport', `${PORT}`, '-j', 'DROP')
    },
    crash: async () => {
      sh('ip', 'link', 'set', name, 'down')
      await kill()
    },
    restartEmpty: async () => {
      await kill()
      await startProcess()
    },
    repair: async () => {
      inside('iptables', '-F')
      sh('ip', 'link', 'set', name, 'up')
      await startProcess()
    },
    signal: (signal) => void child?.kill(signal),
    kill,
    begin,
    untilAnswering,
    unplug: () => void sh('ip', 'link', 'set', name, 'down'),
    plugIn: () => void sh('ip', 'link', 'set', name, 'up'),
    mute: () => {
      inside('nft', 'add', 'table', 'ip', 'mute')
      inside('nft', 'add chain ip mute out { type filter hook output priority 0; }')
      inside('nft', `add rule ip mute out tcp sport ${PORT} ip daddr != ${ip} drop`)
    },
    unmute: () => void inside('nft', 'delete', 'table', 'ip', 'mute'),
  }
}

const isAnswering = (cli: Machine['cli']) => {
  try {
    return cli('PING') === 'PONG'
  } catch {
    return false
  }
}

const replicasOf = (cli: Machine['cli']) =>
  [...cli('INFO', 'replication').matchAll(/^slave\d+:ip=([\d.]+)/gm)].map(([, ip = '']) => ip)
