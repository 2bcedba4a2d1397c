import { expect, test } from 'vitest'
import { createVirtualTime } from '../virtual-time.fixture.ts'
import { openCheckStream, type Unanswered } from './check-stream.ts'
import { createQuestions } from './question.fixture.ts'
import { createScriptedLinks } from './scripted-link.fixture.ts'

const openStream = ({ opened = true } = {}) => {
  const time = createVirtualTime()
  const { openLink, link } = createScriptedLinks()
  const { question, outcomes } = createQuestions()
  const events: string[] = []
  const clients = ({ sent, unsent }: Unanswered) => `sent [${sent.map(clientOf)}] unsent [${unsent.map(clientOf)}]`
  const stream = openCheckStream({
    openLink,
    patienceUs: 1_000_000,
    monotonicClock: time.monotonicClock,
    timers: time.timers,
    events: {
      onOpen: () => events.push('open'),
      onPushedAway: (how, unsent) => events.push(`${how} [${unsent.map(clientOf)}]`),
      onEnd: (reason, unanswered) => events.push(`${reason}; ${clients(unanswered)}`),
    },
  })
  if (opened) link(0).events.onOpen()
  return {
    time,
    link: link(0),
    outcomes,
    events,
    stream,
    ask: (client: string, endMs?: number) =>
      stream.ask(question(client, endMs === undefined ? undefined : endMs * 1_000)),
    /** As the owner of the stream does, every quarter of a second. */
    passJudging: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 250) {
        await time.pass(Math.min(250, ms - passed))
        stream.judge()
      }
    },
  }
}

const clientOf = (question: Unanswered['sent'][number]) => question.check.attributes.get('client')

test('checks of one turn of the loop leave in one frame, and each gets its own answer', async () => {
  const { time, link, outcomes, ask } = openStream()
  ask('a')
  ask('b')
  await time.pass(0)
  ask('c')
  await time.pass(0)
  expect(link.frames).toEqual([[0, 1], [2]])
  link.answer(2, 0)
  expect([...outcomes]).toEqual([
    ['c', 'answered'],
    ['a', 'answered'],
  ])
  link.answer(1, 1, 77)
  expect(outcomes.get('b')).toBe('answered')
})

test('checks wait for the connection, but none longer than its asker does', async () => {
  const { time, link, outcomes, ask } = openStream({ opened: false })
  ask('patient', 500)
  ask('hurried', 50)
  await time.pass(100)
  expect(link.frames).toEqual([])
  link.events.onOpen()
  expect(link.clients).toEqual(['patient'])
  expect([...outcomes]).toEqual([['hurried', 'deadline_exceeded']])
})

test('a limiter that does not read is sent no more until it does, and then all that is still waited for', async () => {
  const { time, link, outcomes, ask } = openStream()
  link.setRoom(false)
  ask('a')
  await time.pass(0)
  ask('late', 10)
  for (let index = 0; index < 1_500; index += 1) ask(`b${index}`)
  await time.pass(20)
  expect(link.frames).toEqual([[0]])
  // There is room for one message each time.
  link.events.onRoom()
  expect(link.frames.map(({ length }) => length)).toEqual([1, 1_000])
  link.events.onRoom()
  expect(link.frames.map(({ length }) => length)).toEqual([1, 1_000, 500])
  expect([...outcomes]).toEqual([['late', 'deadline_exceeded']])
})

test('a connection that does not come about within its time has ended, and nothing of it was sent', async () => {
  const { link, events, ask, passJudging } = openStream({ opened: false })
  ask('a')
  await passJudging(1_000)
  expect(events).toEqual([])
  await passJudging(250)
  expect(events).toEqual(['no connection within 1000 ms; sent [] unsent [a]'])
  expect(link.state()).toBe('disposed')
})

test('a limiter that is asked and says nothing for a second has ended; each answer begins a new second', async () => {
  const { time, link, stream, events, ask, passJudging } = openStream()
  await passJudging(5_000)
  ask('a')
  ask('b')
  await passJudging(750)
  link.answer(0)
  await passJudging(1_000)
  expect(stream.silentUs()).toBe(1_000_000)
  expect(events).toEqual(['open'])
  ask('c')
  link.setRoom(false)
  await time.pass(0)
  ask('d')
  await passJudging(250)
  expect(events.slice(1)).toEqual(['nothing was heard for 1000 ms; sent [b,c] unsent [d]'])
})

test('an answer that never comes, among others that do, ends the stream too', async () => {
  const { time, link, events, ask, passJudging } = openStream()
  ask('lost')
  await time.pass(0)
  for (let index = 0; index < 41; index += 1) {
    ask(`other ${index}`)
    await passJudging(250)
    link.answer(index + 1)
  }
  expect(events.slice(1)).toEqual(['no answer within 10000 ms; sent [lost,other 40] unsent []'])
})

test('a limiter that is asked nothing is asked for a sign of life, and has ended without one', async () => {
  const { link, events, passJudging } = openStream()
  await passJudging(10_250)
  expect(link.pings()).toBe(1)
  link.events.onPong()
  await passJudging(10_250)
  expect(link.pings()).toBe(2)
  expect(events).toEqual(['open'])
  await passJudging(2_250)
  expect(events.slice(1)).toEqual(['no sign of life within 2000 ms; sent [] unsent []'])
})

test('a limiter that drains is sent no more: what it was asked is answered, then it is left', async () => {
  const { time, link, stream, outcomes, events, ask } = openStream()
  ask('a')
  await time.pass(0)
  ask('b')
  link.drain()
  expect(events.slice(1)).toEqual(['draining [b]'])
  expect(stream.state()).toBe('leaving')
  await time.pass(0)
  expect(link.clients).toEqual(['a'])
  expect(link.state()).toBe('in use')
  link.answer(0)
  expect(outcomes.get('a')).toBe('answered')
  expect(link.state()).toBe('finished')
  link.events.onEnd('OK')
  expect(events.slice(2)).toEqual(['OK; sent [] unsent []'])
})

test('one that drains and never ends is ended', async () => {
  const { time, link, events, ask, passJudging } = openStream()
  ask('a')
  await time.pass(0)
  link.drain()
  await passJudging(5_250)
  expect(events.slice(2)).toEqual(['it did not end by itself; sent [a] unsent []'])
})

test('a limiter that announces the end of the connection is still asked', async () => {
  const { time, link, events, ask } = openStream()
  link.events.onGoAway()
  ask('a')
  await time.pass(0)
  expect(events.slice(1)).toEqual(['go_away []'])
  expect(link.clients).toEqual(['a'])
})

test('what is no frame ends the stream, and nothing after it is believed', async () => {
  const { time, link, events, outcomes, ask } = openStream()
  ask('a')
  await time.pass(0)
  link.events.onMessage(Buffer.from('this is no message'))
  link.answer(0)
  expect(events.slice(1)).toEqual(['the limiter said something that is no frame; sent [a] unsent []'])
  expect(outcomes.size).toBe(0)
})
