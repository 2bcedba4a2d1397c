import { expect, test } from 'vitest'
import { type CpuProfile, roomOf, selfTime } from './self-time.ts'

const frame = (functionName: string, url = '') => ({ functionName, url })

test('time is that of the samples’ own functions, the idle time left out', () => {
  const profile: CpuProfile = {
    nodes: [
      { id: 1, callFrame: frame('(root)') },
      { id: 2, callFrame: frame('(idle)') },
      { id: 3, callFrame: frame('take') },
      { id: 4, callFrame: frame('take') },
      { id: 5, callFrame: frame('send') },
    ],
    samples: [3, 2, 4, 5],
    timeDeltas: [100, 9_999, 200, 100],
  }
  expect(selfTime(profile, ({ functionName }) => functionName)).toEqual([
    { name: 'take', percent: 75 },
    { name: 'send', percent: 25 },
  ])
})

test.each([
  ['file:///weir/services/limiter/redis/lane.ts', 'limiter/redis'],
  ['file:///weir/node_modules/@grpc/grpc-js/build/src/call.js', '@grpc/grpc-js'],
  ['file:///weir/node_modules/ioredis/built/Redis.js', 'ioredis'],
  ['node:internal/http2/core', 'node:internal/http2/core'],
  ['', '(garbage collector)'],
])('%s is of %s', (url, room) => {
  expect(roomOf(frame('(garbage collector)', url))).toBe(room)
})
