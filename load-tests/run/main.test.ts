import { expect, test } from 'vitest'
import { localPlans } from './local-plans.ts'
import { plants } from './plants.ts'
import { runLoad } from './program.fixture.ts'

test.each([
  ['no name', []],
  ['a name that is none', ['nothing']],
  ['a plant that is none', ['smoke', '--plant', 'weed']],
  ['faults by nobody', ['outage', '--faults', 'magic']],
])('%s is answered with every scenario and plant', async (_, options) => {
  const { code, output } = await runLoad(options)
  expect(code).toBe(2)
  for (const name of [...Object.keys(localPlans), ...Object.keys(plants)]) expect(output).toContain(name)
})

test.each([
  [['accuracy', '--plant', 'own-buckets'], { BASE_URL: 'http://127.0.0.1:1' }, 'leave BASE_URL out'],
  [['outage', '--faults', 'local'], { BASE_URL: 'http://127.0.0.1:1' }, 'kubectl or manual'],
  [['outage', '--faults', 'kubectl'], {}, 'needs BASE_URL'],
])('%j with %j cannot be', async (options, settings, remedy) => {
  const { code, output } = await runLoad(options, settings)
  expect(code).toBe(2)
  expect(output).toContain(remedy)
})

test('a k6 that does not run is named', async () => {
  const { code, output } = await runLoad(['smoke'], { K6: '/nowhere/k6' })
  expect([code, output]).toEqual([1, 'K6=/nowhere/k6 does not run.\n'])
})
