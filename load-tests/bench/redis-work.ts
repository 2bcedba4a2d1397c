import { redisCli } from '../../services/limiter/redis/redis-server.fixture.ts'

/** What a Redis has done since it began. */
export type RedisWork = { readonly cpuUs: number; readonly commands: number }

/** Commands within scripts included. */
export const readRedisWork = (port: number): RedisWork => parseRedisWork(redisCli(port, 'INFO'))

export const parseRedisWork = (info: string): RedisWork => {
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return {
    cpuUs: (read('used_cpu_sys') + read('used_cpu_user')) * 1_000_000,
    commands: read('total_commands_processed'),
  }
}
