import { expect, test } from 'vitest'
import { redisCli, startRedis } from '../../services/limiter/redis/redis-server.fixture.ts'
import { parseRedisWork, readRedisWork } from './redis-work.ts'

test('its time is the server’s own, of user and system, and not that of its children', () => {
  const info = [
    'total_commands_processed:1234',
    'used_cpu_sys:1.500000',
    'used_cpu_user:0.250000',
    'used_cpu_sys_children:9.000000',
    'used_cpu_user_children:9.000000',
    'used_cpu_sys_main_thread:8.000000',
  ].join('\r\n')
  expect(parseRedisWork(info)).toEqual({ cpuUs: 1_750_000, commands: 1_234 })
})

test('commands are counted, those within scripts too', async () => {
  await using redis = await startRedis()
  const before = readRedisWork(redis.port)
  redisCli(redis.port, 'EVAL', "redis.call('SET', KEYS[1], '1') return redis.call('GET', KEYS[1])", '1', 'a')
  const after = readRedisWork(redis.port)
  // And the reading itself.
  expect(after.commands - before.commands).toBe(4)
  expect(after.cpuUs).toBeGreaterThan(before.cpuUs)
})
