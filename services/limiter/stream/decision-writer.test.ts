import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { decodeDecisionFrame } from '../../wire/decision-frame.ts'
import { createDecisionWriter } from './decision-writer.ts'

const refusal = (id: number) => ({ id, ok: false, code: 3, message: '' }) as const

/** Frames as the ids in them, and the callback that says that the last one has left. */
const recorded = () => {
  const frames: (readonly number[] | 'draining')[] = []
  let counted = 0
  let leave = () => {}
  const writer = createDecisionWriter({
    write: (bytes, written) => {
      const frame = decodeDecisionFrame(bytes)
      frames.push(frame?.draining ? 'draining' : (frame?.decisions ?? []).map(({ id }) => id))
      leave = written
    },
    onWritten: (decisions) => {
      counted += decisions
    },
  })
  return { writer, frames, leave: () => leave(), counted: () => counted }
}

test('decisions of one turn leave together, those that come while a frame is leaving together after it', async () => {
  const { writer, frames, leave, counted } = recorded()
  writer.add(refusal(1))
  writer.add(refusal(2))
  await setImmediate()
  expect(frames).toEqual([[1, 2]])
  writer.add(refusal(3))
  await setImmediate()
  writer.add(refusal(4))
  await setImmediate()
  expect(frames).toEqual([[1, 2]])
  expect(counted()).toBe(0)
  leave()
  expect(counted()).toBe(2)
  expect(frames).toEqual([
    [1, 2],
    [3, 4],
  ])
  leave()
  expect(counted()).toBe(4)
  writer.add(refusal(5))
  await setImmediate()
  expect(frames.at(-1)).toEqual([5])
})

test('that the limiter drains is told before the decisions of the same turn', async () => {
  const { writer, frames, leave } = recorded()
  writer.add(refusal(1))
  await setImmediate()
  writer.add(refusal(2))
  writer.drain()
  leave()
  expect(frames).toEqual([[1], 'draining', [2]])
})
