import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import { createLaneQueue, type Queued } from './lane-queue.ts'
import type { ScriptOperation, ScriptReply } from './take-script.ts'

const rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
const buckets: readonly AskedBucket[] = [{ ...bucketRef('s:a' as GroupKey, 'k' as BucketKey), rule, enforced: true }]
const operation = (key: string, cost = 1, requestId?: string) => ({
  kind: 'take' as const,
  key,
  cost,
  buckets,
  ...(requestId !== undefined && { requestId }),
})

/** A script whose calls the test answers one by one. */
const openQueue = () => {
  const calls: {
    readonly operations: readonly ScriptOperation[]
    /** `served`: how many operations the call came to. */
    readonly answer: (granted?: number, served?: number) => void
    readonly fail: () => void
  }[] = []
  const queue = createLaneQueue((operations) => {
    const { promise, resolve, reject } = Promise.withResolvers<ScriptReply>()
    const answer = (granted?: number, served?: number) =>
      resolve({
        droppedBuckets: 0,
        results: operations
          .slice(0, served)
          .map(({ times }) => ({ granted: granted ?? times, replayed: false, before: [] })),
      })
    calls.push({ operations, answer, fail: () => reject(new Error('gone')) })
    return promise
  })
  const told: (string | undefined)[] = []
  const add = (one: Queued['operation']) => {
    const index = told.push(undefined) - 1
    const queued: Queued = {
      operation: one,
      span: undefined,
      settle: (outcome) => {
        told[index] = outcome.ok ? (outcome.place < outcome.result.granted ? 'granted' : 'refused') : 'failed'
      },
    }
    queue.add(queued)
    return () => queue.withdraw(queued)
  }
  return { calls, add, told }
}

const afterThisTick = () => new Promise<void>((resolve) => setImmediate(resolve))

test('a lone take leaves in its own tick; what comes in that tick leaves with it', async () => {
  const { calls, add } = openQueue()
  add(operation('a'))
  add(operation('b'))
  await Promise.resolve()
  expect(calls.map(({ operations }) => operations.map(({ key }) => key))).toEqual([['a', 'b']])
})

test('one call is under way; whatever arrives meanwhile is the next one', async () => {
  const { calls, add } = openQueue()
  add(operation('a'))
  await afterThisTick()
  for (const key of ['b', 'c', 'd']) {
    add(operation(key))
    await afterThisTick()
  }
  expect(calls).toHaveLength(1)
  calls[0]?.answer()
  await afterThisTick()
  expect(calls.map(({ operations }) => operations.length)).toEqual([1, 3])
})

test('equal takes that follow each other become one, and are granted in the order in which they came', async () => {
  const { calls, add, told } = openQueue()
  for (let index = 0; index < 5; index += 1) add(operation('a'))
  await afterThisTick()
  expect(calls[0]?.operations).toMatchObject([{ key: 'a', times: 5 }])
  calls[0]?.answer(3)
  await afterThisTick()
  expect(told).toEqual(['granted', 'granted', 'granted', 'refused', 'refused'])
})

test('takes that differ, have others between them or carry an id are not merged', async () => {
  const { calls, add } = openQueue()
  for (const one of [
    operation('a'),
    operation('b'),
    operation('a'),
    operation('a', 2),
    operation('a', 1, 'r'),
    operation('a', 1, 'r'),
  ])
    add(one)
  await afterThisTick()
  expect(calls[0]?.operations.map(({ times }) => times)).toEqual([1, 1, 1, 1, 1, 1])
})

test('a call that fails fails its own takes and holds up nobody', async () => {
  const { calls, add, told } = openQueue()
  add(operation('a'))
  await afterThisTick()
  add(operation('b'))
  calls[0]?.fail()
  await afterThisTick()
  calls[1]?.answer()
  await afterThisTick()
  expect(told).toEqual(['failed', 'granted'])
})

test('a take that is withdrawn before it left is never sent; one that has left is', async () => {
  const { calls, add } = openQueue()
  const withdrawSent = add(operation('a'))
  await afterThisTick()
  const withdrawWaiting = add(operation('b'))
  expect([withdrawSent(), withdrawWaiting()]).toEqual([false, true])
  calls[0]?.answer()
  await afterThisTick()
  expect(calls).toHaveLength(1)
})

test('however many takes wait, a call carries a bounded number, and every one is answered once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3_000, size: 'max' }),
      async (keys) => {
        const { calls, add, told } = openQueue()
        for (const key of keys) add(operation(key))
        for (let answered = 0; told.includes(undefined); answered += 1) {
          await afterThisTick()
          expect(calls).toHaveLength(answered + 1)
          calls[answered]?.answer()
          await afterThisTick()
        }
        const carried = calls.map(({ operations }) => operations.reduce((sum, { times }) => sum + times, 0))
        expect(Math.max(...carried)).toBeLessThanOrEqual(512)
        expect(carried.reduce((sum, count) => sum + count, 0)).toBe(keys.length)
        expect(told.every((one) => one === 'granted')).toBe(true)
      },
    ),
    { numRuns: 30 },
  )
})

test('what a call did not come to is first in the next one, which is as large as what was served, but for what nobody waits for any more', async () => {
  const { calls, add, told } = openQueue()
  add(operation('a'))
  const withdraw = add(operation('b'))
  add(operation('c'))
  await afterThisTick()
  add(operation('d'))
  expect(withdraw()).toBe(false)
  calls[0]?.answer(undefined, 1)
  await afterThisTick()
  for (const key of ['e', 'f', 'g']) add(operation(key))
  expect(calls[1]?.operations.map(({ key }) => key)).toEqual(['c'])
  expect(told.slice(0, 3)).toEqual(['granted', 'failed', undefined])
  // From then on each call may carry twice as many.
  for (const keys of [['c'], ['d', 'e'], ['f', 'g']]) {
    expect(calls.at(-1)?.operations.map(({ key }) => key)).toEqual(keys)
    calls.at(-1)?.answer()
    await afterThisTick()
  }
  expect(told.filter((outcome) => outcome === 'granted').length).toBe(6)
})

test('equal takes leave in one call, however many they are; of different ones 128', async () => {
  const { calls, add } = openQueue()
  add(operation('a'))
  await afterThisTick()
  for (let count = 0; count < 500; count += 1) add(operation('hot'))
  for (let count = 0; count < 200; count += 1) add(operation(`k${count}`))
  calls[0]?.answer()
  await afterThisTick()
  expect(calls[1]?.operations.map(({ times }) => times)).toEqual([500, ...Array(127).fill(1)])
})
