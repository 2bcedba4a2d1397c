import { expect, test } from 'vitest'
import { createQuestions } from '../channel/question.fixture.ts'
import { openReplica } from '../channel/replica.ts'
import { createScriptedLinks } from '../channel/scripted-link.fixture.ts'
import { createVirtualTime } from '../virtual-time.fixture.ts'
import { openReplicaSet } from './replica-set.ts'

const open = (...addresses: readonly string[]) => openPatient(undefined, ...addresses)

const openPatient = (patienceUs: number | undefined, ...addresses: readonly string[]) => {
  const time = createVirtualTime()
  const links = createScriptedLinks()
  const lost: string[] = []
  const set = openReplicaSet({
    open: (_, events) =>
      openReplica({
        ...time,
        openLink: links.openLink,
        randomness: () => 1,
        events,
        ...(patienceUs !== undefined && { patienceUs }),
      }),
    nobody: 'nobody',
    ...time,
    observe: {
      connected: () => {},
      lost: (address, reason) => lost.push(`${address} ${reason}`),
      askedAgain: () => {},
    },
  })
  set.update(addresses)
  for (let index = 0; index < addresses.length; index += 1) links.link(index).events.onOpen()
  return { time, ...links, set, lost, ...createQuestions() }
}

test('a limiter that says nothing for a second is given up', async () => {
  const { time, set, lost, question } = open('a')
  set.ask(question('x'))
  await time.pass(1_500)
  expect(lost).toEqual(['a nothing was heard for 1000 ms'])
})

test('unless its client has longer', async () => {
  const { time, link, set, lost, outcomes, question } = openPatient(2_500_000, 'a')
  set.ask(question('x'))
  await time.pass(2_000)
  link(0).answer(0)
  await time.pass(0)
  expect([lost, outcomes.get('x')]).toEqual([[], 'answered'])
  set.ask(question('y'))
  await time.pass(3_000)
  expect(lost).toEqual(['a nothing was heard for 2500 ms'])
})

test('unless it was this process that stood still: then it has another moment', async () => {
  const { time, link, set, lost, outcomes, question } = open('a')
  set.ask(question('x'))
  await time.pass(10)
  time.block(5_000)
  await time.pass(100)
  link(0).answer(0)
  await time.pass(5_000)
  expect(lost).toEqual([])
  expect(outcomes.get('x')).toBe('answered')
})

test('closed, it answers that it is, and leaves nothing behind', async () => {
  const { time, set, outcomes, question } = open('a', 'b')
  set.ask(question('x'))
  await time.pass(0)
  set[Symbol.dispose]()
  set.ask(question('y'))
  expect([...outcomes.values()]).toEqual(['unavailable', 'unavailable'])
  await time.pass(10_000)
  expect(time.pendingTimers()).toBe(0)
})

test('one that is closed tells of no loss', () => {
  const { set, lost } = open('a', 'b')
  set[Symbol.dispose]()
  expect(lost).toEqual([])
})
