import { expect, test } from 'vitest'
import { offeredWhatItSays } from './offered.ts'

const ended = (iterations: number, dropped: number) =>
  offeredWhatItSays({ iterations: { count: iterations }, dropped_iterations: { count: dropped } }).outcome

test('a run that left out more than a hundredth of its load was another run', () => {
  expect(ended(990, 10)).toBe('holds')
  expect(ended(989, 11)).toBe('fails')
})

test('a run that left out nothing has no such metric, and one that asked nothing fails', () => {
  expect(offeredWhatItSays({ iterations: { count: 1 } }).outcome).toBe('holds')
  expect(offeredWhatItSays({}).outcome).toBe('fails')
})
