import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Does not hold up this process, which carries the traffic, while Redis does not answer. */
export const askRedis = async (port: number, ...command: readonly string[]): Promise<string> => {
  const { stdout } = await execute('redis-cli', ['-p', `${port}`, ...command], { timeout: 5_000 })
  return stdout.trim()
}

export const pidOf = async (port: number) =>
  Number(/^process_id:(\d+)/m.exec(await askRedis(port, 'INFO', 'server'))?.[1])

export const isPrimary = async (port: number) => (await askRedis(port, 'ROLE')).startsWith('master')

export const isHealthy = async (port: number) => {
  try {
    return (await askRedis(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok')
  } catch {
    return false
  }
}
