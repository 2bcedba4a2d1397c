import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { describeDatabases } from './databases.fixture.ts'
import { runOnce } from './run-once.ts'

const attemptOf = (change: Partial<{ client: string; key: string; fingerprint: string }> = {}) => ({
  client: 'user:a',
  key: randomUUID(),
  fingerprint: 'f',
  ...change,
})

describeDatabases((database, kind) => {
  /** Work that counts how often it is done. */
  const counted = () => {
    const work = async () => {
      work.times += 1
      return { time: work.times }
    }
    work.times = 0
    return work
  }

  test('work is done the first time, and its result told again the next times', async () => {
    const attempt = attemptOf()
    const work = counted()
    for (let time = 0; time < 3; time++)
      expect(await runOnce(database(), attempt, work)).toEqual({ ok: true, result: { time: 1 } })
    expect(work.times).toBe(1)
  })

  test('a key that asks for something else is refused, and the first result stays', async () => {
    const attempt = attemptOf()
    const work = counted()
    await runOnce(database(), attempt, work)
    expect(await runOnce(database(), { ...attempt, fingerprint: 'other' }, work)).toEqual({
      ok: false,
      reason: 'reused',
    })
    expect(await runOnce(database(), attempt, work)).toEqual({ ok: true, result: { time: 1 } })
  })

  test("clients' keys are their own, however client and key are put together", async () => {
    const work = counted()
    const key = randomUUID()
    await runOnce(database(), attemptOf({ client: 'a', key: `b:${key}` }), work)
    await runOnce(database(), attemptOf({ client: 'a:b', key }), work)
    expect(work.times).toBe(2)
  })

  test('work that rejects leaves nothing behind, and its key unused', async () => {
    const attempt = attemptOf()
    const failing = runOnce(database(), attempt, async (queries) => {
      await queries.query(`insert into idempotency_records values ('trace', $1, '', '')`, [attempt.key])
      throw new Error('planted')
    })
    await expect(failing).rejects.toThrow('planted')
    expect(await database().query('select from idempotency_records where key = $1', [attempt.key])).toEqual([])
    expect(await runOnce(database(), { ...attempt, fingerprint: 'other' }, counted())).toMatchObject({ ok: true })
  })

  test('a key is free again after a day, and old records are cleared away by new ones', async () => {
    const attempt = attemptOf()
    const work = counted()
    const age = (interval: string) =>
      database().query(`update idempotency_records set created_at = now() - $1::interval`, [interval])
    await runOnce(database(), attempt, work)
    await runOnce(database(), attemptOf(), work)
    await age('23 hours 59 minutes')
    expect(await runOnce(database(), attempt, work)).toEqual({ ok: true, result: { time: 1 } })
    await age('24 hours 1 second')
    expect(await runOnce(database(), { ...attempt, fingerprint: 'other' }, work)).toEqual({
      ok: true,
      result: { time: 3 },
    })
    expect(await database().query('select key from idempotency_records')).toEqual([{ key: attempt.key }])
  })

  test('of many at once one does the work', async () => {
    const attempt = attemptOf()
    const work = counted()
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => runOnce(database(), attempt, work)))
    expect(work.times).toBe(1)
    for (const outcome of outcomes)
      expect([
        { ok: true, result: { time: 1 } },
        { ok: false, reason: 'in_use' },
      ]).toContainEqual(outcome)
  })

  test('whoever comes when the work is done is told its result, however many come at once', async () => {
    const attempt = attemptOf()
    const work = counted()
    await runOnce(database(), attempt, work)
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => runOnce(database(), attempt, work)))
    expect(outcomes).toEqual(Array(30).fill({ ok: true, result: { time: 1 } }))
  })

  // PGlite has one connection: a second request waits for the first and never meets it.
  if (kind === 'PostgreSQL')
    test('a key whose work still runs is in use, until the work ends', async () => {
      const key = randomUUID()
      const attempt = attemptOf({ client: 'a', key: `b:${key}` })
      const started = Promise.withResolvers<void>()
      const mayEnd = Promise.withResolvers<void>()
      const first = runOnce(database(), attempt, async () => {
        started.resolve()
        await mayEnd.promise
        return 'first'
      })
      await started.promise
      expect(await runOnce(database(), attempt, counted())).toEqual({ ok: false, reason: 'in_use' })
      expect(await runOnce(database(), attemptOf({ client: 'a:b', key }), counted())).toMatchObject({ ok: true })
      mayEnd.resolve()
      expect(await first).toEqual({ ok: true, result: 'first' })
      expect(await runOnce(database(), attempt, counted())).toEqual({ ok: true, result: 'first' })
    })
})
