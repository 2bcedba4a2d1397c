import { expect, test } from 'vitest'
import { makeRule } from '../../bucket/rule.ts'
import { type BucketKey, bucketRef, type GroupKey } from '../../limiter/core/store.ts'
import { createScriptModel } from '../../limiter/redis/script-model.fixture.ts'
import { ruleHash, type ScriptOperation } from '../../limiter/redis/take-script.ts'
import { createRandom } from './random.ts'
import { createRedisModel } from './redis-model.ts'

test('the simulated Redis does what the model does that take.lua is held to, whatever its clock does', () => {
  const random = createRandom(1)
  const rules = [
    [3, 7, 9],
    [10, 1, 1],
    [5, 1, 3600],
  ].flatMap(([capacity = 0, tokens = 0, periodS = 0]) => {
    const made = makeRule(capacity, tokens, periodS)
    return made.ok ? [made.rule] : []
  })
  const [first, ...others] = rules
  if (first === undefined) throw new Error('there is no rule')
  const anyOperation = (nowUs: number): ScriptOperation => {
    const key = `weir:{0}:s:api:c${random.whole(1, 3)}`
    const kind = random.pick<ScriptOperation['kind']>(['take', 'take', 'take', 'take', 'debit', 'reset'])
    const rule = random.chance(0.8) ? first : random.pick([first, ...others])
    const buckets = ['a', 'b'].slice(0, random.whole(1, 2)).map((name) => ({
      ...bucketRef('s' as GroupKey, name as BucketKey),
      rule,
      enforced: random.chance(0.8),
    }))
    const testimonies = buckets.map(() =>
      random.chance(0.1)
        ? {
            bucket: {
              deficitNano: random.whole(0, rule.capacityTokens * 1e9),
              atUs: nowUs - random.whole(0, 3_000_000),
            },
            epoch: random.whole(0, 6),
            grantedTokens: random.whole(0, 9),
            ruleHash: ruleHash(rule),
            leastElapsedUs: random.whole(0, 1_000_000),
            mostElapsedUs: random.whole(1_000_000, 4_000_000),
          }
        : undefined,
    )
    const operation = { kind, key, buckets, testimonies, cost: kind === 'reset' ? 0 : random.whole(0, 2) } as const
    const requestId = String(random.whole(0, 9))
    switch (kind) {
      case 'reset':
        return { ...operation, times: 1 }
      case 'debit':
        return { ...operation, times: 1, extraNano: random.whole(0, 999_999_999), requestId }
      case 'take':
        return random.chance(0.2) ? { ...operation, times: 1, requestId } : { ...operation, times: random.whole(1, 4) }
    }
  }

  const [script, redis] = [createScriptModel(), createRedisModel(new Map())]
  let nowUs = 1_700_000_000_000_000
  for (let index = 0; index < 50_000; index += 1) {
    nowUs += random.chance(0.05)
      ? random.pick([-60_000_000, -3_000_000, -1_000_000, 1_000_000, 60_000_000])
      : random.whole(0, 300_000)
    const operation = anyOperation(nowUs)
    const [expected] = script([operation], nowUs, 1).results
    expect(redis.run(operation, nowUs), `operation ${index}: ${JSON.stringify(operation)}`).toEqual(expected)
  }
})
