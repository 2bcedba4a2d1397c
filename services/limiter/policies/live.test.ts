import { mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { systemTimers, type Timers } from '../../seams/timers.ts'
import { type LivePolicies, openLivePolicies, type PolicyStatus } from './live.ts'
import { formatProblem } from './problem.ts'
import { openTemporaryFolder } from './temporary-folder.fixture.ts'

const document = (capacity: number, domain = 'api') =>
  `domain: ${domain}\nsubject: client\npolicies: [{ name: free, capacity: ${capacity}, refill: 5/s }]\n`

/** The watch's pauses end when a test says so: tests wait for what it does, and the clock is not asked. */
const createHandTimers = () => {
  const pending = new Set<() => void>()
  let paused = Promise.withResolvers<{ readonly delayMs: number; readonly end: () => void }>()
  let parsing = Promise.withResolvers<void>()
  const timers: Timers = {
    ...systemTimers,
    after: (delayMs, callback) => {
      pending.add(callback)
      // Any longer is the deadline of parsing, which no test reaches.
      if (delayMs > 1_000) parsing.resolve()
      else paused.resolve({ delayMs, end: callback })
      return () => pending.delete(callback)
    },
  }
  /** One reading, and what follows from it. Gives the length of the pause before. */
  const tick = async () => {
    const delayMs = await begin()
    await paused.promise
    return delayMs
  }
  const begin = async () => {
    const { delayMs, end } = await paused.promise
    paused = Promise.withResolvers()
    pending.delete(end)
    end()
    return delayMs
  }
  /** A change is seen once, then confirmed. */
  const settle = async () => {
    await tick()
    await tick()
  }
  /** Goes on until the reading is being parsed. */
  const beginParsing = async () => {
    parsing = Promise.withResolvers()
    await begin()
    await parsing.promise
  }
  return { timers, tick, settle, beginParsing, pending: () => pending.size }
}

const open = async (path: string) => {
  const hand = createHandTimers()
  const reloads: PolicyStatus[] = []
  let nowUs = 1_000
  const opened = await openLivePolicies({
    path,
    timers: hand.timers,
    clock: { nowUs: () => (nowUs += 1) },
    onReload: (status) => reloads.push(status),
  })
  if (!opened.ok) throw new Error(opened.problems.map(formatProblem).join('\n'))
  const { policies } = opened
  return { ...hand, policies, reloads, [Symbol.asyncDispose]: policies[Symbol.asyncDispose] }
}

const capacityOf = ({ current }: LivePolicies, domain = 'api') => {
  const policy = current().get(domainName(domain))?.policies[0]
  return policy?.kind === 'counting' ? policy.rule.capacityTokens : undefined
}

test('a start with a mistake is refused with every problem', async () => {
  await using folder = await openTemporaryFolder()
  const start = (path: string) => openLivePolicies({ path, onReload: () => {} })
  await writeFile(folder.at('policies.yaml'), 'domain: api\nsubject: client\npolicies: 5\n')
  expect(await start(folder.at('policies.yaml'))).toMatchObject({
    ok: false,
    problems: [{ line: 3, path: 'policies' }],
  })
  expect(await start(folder.at('none.yaml'))).toMatchObject({ ok: false, problems: [{ file: folder.at('none.yaml') }] })
})

test('at the start the policies of the file are in force', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  expect(capacityOf(live.policies)).toBe(1)
  expect(live.policies.status()).toEqual({
    generation: 1,
    digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    loadedAtUs: 1_001,
    lastReload: 'accepted',
    rejectedReloads: 0,
    problems: [],
  })
})

test('a file edited in place is taken over', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  const before = { sets: live.policies.current(), status: live.policies.status() }
  await writeFile(folder.at('policies.yaml'), document(2))
  await live.settle()
  expect(capacityOf(live.policies)).toBe(2)
  expect(live.reloads).toEqual([
    {
      generation: 2,
      digest: expect.not.stringMatching(before.status.digest),
      loadedAtUs: 1_002,
      lastReload: 'accepted',
      rejectedReloads: 0,
      problems: [],
    },
  ])
  expect(live.policies.status()).toBe(live.reloads[0])
  // Whoever asked before the reload keeps a whole set of policies.
  expect(before.sets.get(domainName('api'))?.policies).toMatchObject([{ rule: { capacityTokens: 1 } }])
})

test('a file replaced by another, as editors do, is taken over', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  for (const capacity of [2, 3]) {
    await writeFile(folder.at('policies.yaml~'), document(capacity))
    await rename(folder.at('policies.yaml~'), folder.at('policies.yaml'))
    await live.settle()
    expect(capacityOf(live.policies)).toBe(capacity)
  }
})

/** Writes a version as the kubelet does: a new folder, and one rename of a symlink that everything hangs on. */
const projectConfigMap = async (
  at: (...names: readonly string[]) => string,
  version: string,
  files: Readonly<Record<string, string>>,
) => {
  await mkdir(at(version))
  for (const [name, text] of Object.entries(files)) await writeFile(at(version, name), text)
  await symlink(version, at('..data_tmp'))
  await rename(at('..data_tmp'), at('..data'))
}

test.for(['policies.yaml', '.'])('a ConfigMap swapped under %s is taken over, its old version gone', async (name) => {
  await using folder = await openTemporaryFolder()
  await projectConfigMap(folder.at, '..2026_11_20_1', { 'policies.yaml': document(1) })
  await symlink('..data/policies.yaml', folder.at('policies.yaml'))
  await using live = await open(folder.at(name))
  for (const capacity of [2, 3]) {
    await projectConfigMap(folder.at, `..2026_11_20_${capacity}`, { 'policies.yaml': document(capacity) })
    await rm(folder.at(`..2026_11_20_${capacity - 1}`), { recursive: true })
    await live.settle()
    expect(capacityOf(live.policies)).toBe(capacity)
  }
  expect(live.reloads.map(({ generation }) => generation)).toEqual([2, 3])
})

test('files added to a folder and removed from it are taken over', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('a.yaml'), document(1, 'a'))
  await using live = await open(folder.at())
  const domains = () => [...live.policies.current().keys()]
  await writeFile(folder.at('b.json'), JSON.stringify({ domain: 'b', subject: 'client', policies: [] }))
  await live.settle()
  expect(domains()).toEqual(['a', 'b'])
  await rm(folder.at('a.yaml'))
  await live.settle()
  expect(domains()).toEqual(['b'])
  await rename(folder.at('b.json'), folder.at('c.json'))
  await live.settle()
  expect(domains()).toEqual(['b'])
})

test('a rejected reload names the faults once and leaves the last good policies in force, until the file is mended', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  const good = live.policies.status()
  await writeFile(folder.at('policies.yaml'), document(0))
  await live.settle()
  for (let second = 0; second < 5; second += 1) await live.tick()
  expect(live.reloads).toEqual([
    {
      ...good,
      lastReload: 'rejected',
      rejectedReloads: 1,
      problems: [expect.objectContaining({ line: 3, path: 'policies[0].capacity' })],
    },
  ])
  expect(live.policies.status()).toBe(live.reloads[0])
  expect(capacityOf(live.policies)).toBe(1)

  await writeFile(folder.at('policies.yaml'), document(2))
  await live.settle()
  expect(live.policies.status()).toMatchObject({ generation: 2, lastReload: 'accepted', problems: [] })
  expect(capacityOf(live.policies)).toBe(2)
})

test('a fault other than the last is named, too', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  await writeFile(folder.at('policies.yaml'), document(0))
  await live.settle()
  await writeFile(folder.at('policies.yaml'), 'domain: [')
  await live.settle()
  expect(live.reloads.map(({ problems }) => problems[0]?.line)).toEqual([3, 1])
})

test('a file taken back to what is in force is mended', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  const good = live.policies.status()
  await writeFile(folder.at('policies.yaml'), document(0))
  await live.settle()
  await writeFile(folder.at('policies.yaml'), document(1))
  await live.settle()
  expect(live.policies.status()).toMatchObject({
    generation: 2,
    lastReload: 'accepted',
    digest: good.digest,
    problems: [],
  })
})

test('a file removed does not empty the policies, and is taken over when it is made again', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  await rm(folder.at('policies.yaml'))
  await live.settle()
  await live.tick()
  expect(live.reloads.map(({ lastReload, problems }) => [lastReload, ...problems.map(formatProblem)])).toEqual([
    ['rejected', `${folder.at('policies.yaml')}:1:1: does not exist: name a policy file, or a folder of them`],
  ])
  expect(capacityOf(live.policies)).toBe(1)
  await writeFile(folder.at('policies.yaml'), document(2))
  await live.settle()
  expect(capacityOf(live.policies)).toBe(2)
})

test('a folder emptied does not empty the policies', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at())
  await rm(folder.at('policies.yaml'))
  await live.settle()
  expect(live.policies.status().lastReload).toBe('rejected')
  expect(capacityOf(live.policies)).toBe(1)
})

test('a file touched, or written again as it was, is no reload', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  await utimes(folder.at('policies.yaml'), 2_000_000_000, 2_000_000_000)
  await live.settle()
  await writeFile(folder.at('policies.yaml~'), document(1))
  await rename(folder.at('policies.yaml~'), folder.at('policies.yaml'))
  await live.settle()
  expect(live.reloads).toEqual([])
})

test('a file half written is not offered, though it would be right; the whole one is', async () => {
  await using folder = await openTemporaryFolder()
  const path = folder.at('policies.yaml')
  await writeFile(path, `${document(1, 'a')}---\n${document(1, 'b')}`)
  await using live = await open(path)
  await writeFile(path, '')
  await live.tick()
  await writeFile(path, document(2, 'a'))
  await live.tick()
  await writeFile(path, `${document(2, 'a')}---\n${document(2, 'b')}`)
  await live.settle()
  expect(live.reloads).toMatchObject([{ lastReload: 'accepted', generation: 2 }])
  expect([capacityOf(live.policies, 'a'), capacityOf(live.policies, 'b')]).toEqual([2, 2])
})

test('it looks once a second, and sooner while the file is changing', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  await using live = await open(folder.at('policies.yaml'))
  const pauses = [await live.tick()]
  await writeFile(folder.at('policies.yaml'), document(2))
  pauses.push(await live.tick(), await live.tick(), await live.tick())
  expect(pauses).toEqual([1_000, 1_000, 100, 1_000])
})

test('the same policies have the same digest, wherever they lie', async () => {
  await using folder = await openTemporaryFolder()
  await mkdir(folder.at('b'))
  for (const path of [folder.at('a.yaml'), folder.at('b', 'policies.yaml')]) await writeFile(path, document(1))
  await using one = await open(folder.at('a.yaml'))
  await using other = await open(folder.at('b'))
  expect(other.policies.status().digest).toBe(one.policies.status().digest)
})

test('a reload under way when it is closed is not taken over, and nothing is left running', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  const live = await open(folder.at('policies.yaml'))
  await writeFile(folder.at('policies.yaml'), document(2))
  await live.tick()
  await live.beginParsing()
  await live[Symbol.asyncDispose]()
  expect(live.reloads).toEqual([])
  expect(capacityOf(live.policies)).toBe(1)
  expect(live.pending()).toBe(0)
})

test('closed between two looks, nothing is left running', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  const live = await open(folder.at('policies.yaml'))
  await live.tick()
  expect(live.pending()).toBe(1)
  await live[Symbol.asyncDispose]()
  expect(live.pending()).toBe(0)
})

test('by the clock of the system, an edit is noticed', async () => {
  await using folder = await openTemporaryFolder()
  await writeFile(folder.at('policies.yaml'), document(1))
  const reloaded = Promise.withResolvers<PolicyStatus>()
  const opened = await openLivePolicies({ path: folder.at('policies.yaml'), onReload: reloaded.resolve })
  if (!opened.ok) throw new Error('not opened')
  await using policies = opened.policies
  await writeFile(folder.at('policies.yaml'), document(2))
  expect((await reloaded.promise).lastReload).toBe('accepted')
  expect(capacityOf(policies)).toBe(2)
})
