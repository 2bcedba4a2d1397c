import { expect, test } from 'vitest'
import { runSchedules } from './schedule.fixture.ts'

test('while the store forgets nothing, witnesses change no decision in 20,000 random schedules', () => {
  const found = runSchedules(20_000)
  console.info(JSON.stringify(found))
  expect(found).toMatchObject({ wrongLosses: 0, wrongVetoes: 0, wrongRefusals: 0 })
}, 300_000)
