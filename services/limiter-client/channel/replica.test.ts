import { expect, test } from 'vitest'
import { createVirtualTime } from '../virtual-time.fixture.ts'
import { createQuestions } from './question.fixture.ts'
import { openReplica } from './replica.ts'
import { createScriptedLinks } from './scripted-link.fixture.ts'

const open = (random = 1) => {
  const time = createVirtualTime()
  const links = createScriptedLinks()
  const { question, outcomes } = createQuestions()
  const lost: string[] = []
  const replica = openReplica({
    openLink: links.openLink,
    monotonicClock: time.monotonicClock,
    timers: time.timers,
    randomness: () => random,
    events: {
      onConnected: () => {},
      onLost: (reason, { sent, unsent }) => lost.push(`${reason}: ${sent.length} sent, ${unsent.length} unsent`),
    },
  })
  const ask = async (client: string) => {
    replica.ask(question(client))
    await time.pass(0)
  }
  return { time, ...links, replica, lost, outcomes, ask }
}

const end = ({ link }: ReturnType<typeof open>, index: number) => link(index).events.onEnd('connection refused')

test('it is connected to at once, and questions may wait for that', async () => {
  const one = open()
  expect(one.replica.status()).toBe('connecting')
  await one.ask('a')
  one.link(0).events.onOpen()
  expect(one.replica.status()).toBe('ready')
  expect(one.link(0).clients).toEqual(['a'])
})

test.each([
  [0, [25, 50, 100, 200, 400, 500, 500]],
  [1, [50, 100, 200, 400, 800, 1_000, 1_000]],
])('with a random %i, attempts follow each other after %j ms', async (random, delaysMs) => {
  const one = open(random)
  for (const [attempt, delayMs] of delaysMs.entries()) {
    end(one, attempt)
    await one.time.pass(delayMs - 1)
    expect(one.opened()).toBe(attempt + 1)
    await one.time.pass(1)
    expect(one.opened()).toBe(attempt + 2)
  }
  expect(one.replica.status()).toBe('away')
})

test('an answer ends the waiting between attempts; being connected does not', async () => {
  const one = open()
  for (let attempt = 0; attempt < 5; attempt += 1) {
    one.link(attempt).events.onOpen()
    end(one, attempt)
    await one.time.pass(1_000)
  }
  one.link(5).events.onOpen()
  await one.ask('a')
  one.link(5).answer(0)
  end(one, 5)
  await one.time.pass(50)
  expect(one.opened()).toBe(7)
  expect(one.replica.status()).toBe('connecting')
})

test('connecting may take a second, and twice as long after each failure, up to four', async () => {
  const one = open()
  for (const [limitMs, retryMs] of [
    [1_000, 50],
    [2_000, 100],
    [4_000, 200],
    [4_000, 400],
  ] as const) {
    const before = one.opened()
    await one.time.pass(limitMs)
    one.replica.judge()
    expect(one.lost).toHaveLength(before - 1)
    await one.time.pass(250)
    one.replica.judge()
    expect(one.lost).toHaveLength(before)
    await one.time.pass(retryMs)
  }
})

test('one that is silent for a tenth of a second is slow, until it says something', async () => {
  const one = open()
  one.link(0).events.onOpen()
  await one.ask('a')
  await one.time.pass(100)
  expect(one.replica.status()).toBe('ready')
  await one.time.pass(1)
  expect(one.replica.status()).toBe('slow')
  one.link(0).answer(0)
  expect(one.replica.status()).toBe('ready')
})

test('before a connection ends, the next one takes over, and the old one answers what it was asked', async () => {
  const one = open()
  one.link(0).events.onOpen()
  await one.ask('a')
  one.link(0).events.onGoAway()
  await one.ask('b')
  expect(one.opened()).toBe(2)
  one.link(1).events.onOpen()
  await one.ask('c')
  expect([one.link(0).clients, one.link(1).clients]).toEqual([['a', 'b'], ['c']])
  one.link(0).answer(0, 1)
  one.link(0).events.onEnd('OK')
  expect([...one.outcomes.keys()]).toEqual(['a', 'b'])
  expect(one.lost).toEqual([])
  expect(one.replica.status()).toBe('ready')
})

test('when the next one cannot be had, the old one is used to its end', async () => {
  const one = open()
  one.link(0).events.onOpen()
  one.link(0).events.onGoAway()
  end(one, 1)
  await one.ask('a')
  expect(one.link(0).clients).toEqual(['a'])
  end(one, 0)
  expect(one.lost.at(-1)).toBe('connection refused: 1 sent, 0 unsent')
})

test('one that drains is left, and tried again later', async () => {
  const one = open()
  one.link(0).events.onOpen()
  await one.ask('a')
  one.link(0).drain()
  expect(one.replica.status()).toBe('away')
  await one.time.pass(50)
  expect(one.opened()).toBe(2)
  one.link(0).answer(0)
  expect(one.outcomes.get('a')).toBe('answered')
})

test('one that is not needed any more answers what it was asked, and is not connected to again', async () => {
  const one = open()
  one.link(0).events.onOpen()
  await one.ask('a')
  one.replica.retire()
  expect(one.replica.isBusy()).toBe(true)
  one.link(0).answer(0)
  one.link(0).events.onEnd('OK')
  expect(one.replica.isBusy()).toBe(false)
  await one.time.pass(10_000)
  expect(one.opened()).toBe(1)
  expect(one.time.pendingTimers()).toBe(0)
})

test('it holds no more than it can answer', async () => {
  const one = open()
  one.link(0).events.onOpen()
  for (let index = 0; index < 3_999; index += 1) await one.ask(`${index}`)
  expect(one.replica.isFull()).toBe(false)
  await one.ask('last')
  expect(one.replica.isFull()).toBe(true)
  one.link(0).answer(17)
  expect(one.replica.isFull()).toBe(false)
})
