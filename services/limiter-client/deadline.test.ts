import { expect, test } from 'vitest'
import { startDeadline } from './deadline.ts'
import { createVirtualTime } from './virtual-time.fixture.ts'

const startWait = () => {
  const time = createVirtualTime()
  const expiries: { readonly atMs: number; readonly lagMs: number }[] = []
  const callOff = startDeadline({
    timers: time.timers,
    monotonicClock: time.monotonicClock,
    deadlineMs: 50,
    onExpiry: (lagMs) => expiries.push({ atMs: time.nowMs(), lagMs }),
  })
  return { time, expiries, callOff }
}

test('it is over exactly once, at the deadline', async () => {
  const { time, expiries } = startWait()
  await time.pass(49)
  expect(expiries).toEqual([])
  await time.pass(1_000)
  expect(expiries).toEqual([{ atMs: 50, lagMs: 0 }])
})

test.each([0, 1, 15, 49])('called off after %i ms it is never over', async (ms) => {
  const { time, expiries, callOff } = startWait()
  await time.pass(ms)
  callOff()
  await time.pass(1_000)
  expect(expiries).toEqual([])
})

test('a process that stood still beyond the deadline is told so', async () => {
  const { time, expiries } = startWait()
  await time.pass(5)
  time.block(195)
  await time.pass(0)
  expect(expiries).toEqual([{ atMs: 200, lagMs: 190 }])
})

test('so is one that stood still within it: the deadline itself is kept', async () => {
  const { time, expiries } = startWait()
  time.block(45)
  await time.pass(100)
  expect(expiries).toEqual([{ atMs: 50, lagMs: 35 }])
})

test('timers that are a little late, as timers are, are no sign of it', async () => {
  const { time, expiries } = startWait()
  for (let step = 0; step < 5; step += 1) {
    await time.pass(9)
    time.block(3)
    await time.pass(0)
  }
  expect(expiries).toEqual([{ atMs: 50, lagMs: 0 }])
})
