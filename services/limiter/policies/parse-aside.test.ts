import { expect, test } from 'vitest'
import { systemTimers, type Timers } from '../../seams/timers.ts'
import { parsePolicies } from './parse.ts'
import { parseAside } from './parse-aside.ts'
import { formatProblem } from './problem.ts'

const document = (overrides: number) => `domain: api
subject: client
policies:
  - { name: free, match: { plan: free }, capacity: 60, refill: 5/s }
overrides:
${Array.from({ length: overrides }, (_, index) => `  - { policy: free, client: user:${index}, capacity: 600 }\n`).join('')}`

const never = new AbortController().signal

test('what is parsed aside is what is parsed here: sets, or problems', async () => {
  const good = [{ name: 'good.yaml', text: document(2) }]
  const bad = [
    { name: 'bad.yaml', text: document(2) },
    { name: 'worse.yaml', text: 'domain: *' },
  ]
  for (const files of [good, bad])
    expect(await parseAside(files, { timers: systemTimers, signal: never })).toEqual(parsePolicies(files))
})

test('parsing as much as there may be leaves the event loop free', async () => {
  let turns = 0
  let done = false
  const turn = () => {
    turns += 1
    if (!done) setImmediate(turn)
  }
  turn()
  const parsed = await parseAside([{ name: 'large.yaml', text: document(10_000) }], {
    timers: systemTimers,
    signal: never,
  })
  done = true
  expect(parsed.ok).toBe(true)
  expect(turns).toBeGreaterThan(100)
})

test('parsing that takes too long is given up', async () => {
  const deadlines: number[] = []
  const timers: Timers = {
    ...systemTimers,
    after: (delayMs, callback) => {
      deadlines.push(delayMs)
      return systemTimers.after(0, callback)
    },
  }
  const parsed = await parseAside([{ name: 'large.yaml', text: document(10_000) }], { timers, signal: never })
  expect(deadlines).toEqual([60_000])
  expect(parsed.ok ? [] : parsed.problems.map(formatProblem)).toEqual([
    'large.yaml:1:1: cannot be parsed: it takes longer than 60 s; make it smaller',
  ])
})

test('parsing that takes too much memory is given up, and nothing else', async () => {
  // Each file is small; all of them together are not.
  const files = Array.from({ length: 100 }, (_, index) => ({ name: `${index}.yaml`, text: '[\n'.repeat(500_000) }))
  const parsed = await parseAside(files, { timers: systemTimers, signal: never })
  expect(parsed.ok ? [] : parsed.problems.map(formatProblem)).toEqual([
    expect.stringMatching(/^0\.yaml:1:1: cannot be parsed: .*memory/),
  ])
}, 240_000)

test('parsing is given up at once when the process stops', async () => {
  const closing = new AbortController()
  const parsed = parseAside([{ name: 'large.yaml', text: document(10_000) }], {
    timers: systemTimers,
    signal: closing.signal,
  })
  closing.abort()
  expect(await parsed).toMatchObject({ ok: false })
})
