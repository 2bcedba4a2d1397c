import { expect, test } from 'vitest'
import { createVirtualTime } from '../virtual-time.fixture.ts'
import { followAddresses } from './follow-addresses.ts'

/** A name whose addresses the test changes. */
const follow = async (...first: readonly string[]) => {
  const time = createVirtualTime()
  let addresses = first
  const lookedUp: string[] = []
  const told: (readonly string[])[] = []
  const following = followAddresses({
    name: 'limiter.weir',
    names: {
      resolve: async (host) => {
        lookedUp.push(host)
        return addresses
      },
    },
    timers: time.timers,
    onAddresses: (found) => told.push(found),
  })
  await following.ready
  return {
    following,
    time,
    told,
    lookedUp,
    standFor: async (...next: readonly string[]) => {
      addresses = next
      await time.pass(1_500)
    },
  }
}

test('a name stands for all its addresses; only a change of them is told', async () => {
  const { told, standFor } = await follow('10.0.0.2', '10.0.0.1')
  await standFor('10.0.0.1', '10.0.0.2')
  await standFor('10.0.0.3', '10.0.0.1')
  expect(told).toEqual([
    ['10.0.0.1', '10.0.0.2'],
    ['10.0.0.1', '10.0.0.3'],
  ])
})

test('a name that cannot be looked up keeps the last addresses, and is looked up on', async () => {
  const { told, standFor } = await follow('10.0.0.1')
  for (let time = 0; time < 10; time += 1) await standFor()
  await standFor('10.0.0.2')
  expect(told).toEqual([['10.0.0.1'], ['10.0.0.2']])
})

test('a limiter with an address of each family is one limiter', async () => {
  const { told, standFor } = await follow('fd00::1', '10.0.0.1')
  await standFor('fd00::2', 'fd00::1')
  expect(told).toEqual([['10.0.0.1'], ['fd00::1', 'fd00::2']])
})

test('a look-up that hangs is not followed by others', async () => {
  const time = createVirtualTime()
  let lookedUp = 0
  const names = {
    resolve: () => {
      lookedUp += 1
      return new Promise<readonly string[]>(() => {})
    },
  }
  followAddresses({ name: 'limiter.weir', names, timers: time.timers, onAddresses: () => {} })
  await time.pass(60_000)
  expect(lookedUp).toBe(1)
})

test('when it is no longer followed, nothing is left', async () => {
  const { following, time, told, lookedUp, standFor } = await follow('10.0.0.1')
  following[Symbol.dispose]()
  await standFor('10.0.0.9')
  expect(told).toHaveLength(1)
  expect(lookedUp).toHaveLength(1)
  expect(time.pendingTimers()).toBe(0)
})
