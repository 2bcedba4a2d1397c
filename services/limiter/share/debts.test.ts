import { expect, test } from 'vitest'
import { nanoTokens } from '../../bucket/bucket.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey, REMEMBERED_US } from '../core/store.ts'
import { createAccounts } from './accounts.ts'
import { createDebts } from './debts.ts'
import { createRemembered } from './remembered.ts'
import { createSharedStore } from './remote.fixture.ts'

test('a debit of unknown fate is not sent again by a limiter that stood still until the store had forgotten its id', async () => {
  let nowUs = 0
  const monotonicUs = () => nowUs
  const asked: AskedBucket = {
    ...bucketRef('subject' as GroupKey, 'k' as BucketKey),
    rule: { capacityTokens: 10, refillTokens: 1, periodS: 3600 },
    enforced: true,
  }
  const due: (() => void)[] = []
  const sent: string[] = []
  const remembered = createRemembered(monotonicUs)
  const accounts = createAccounts({ monotonicUs, recall: remembered.recall, part: () => 1 })
  const debts = createDebts({
    accounts,
    remembered,
    monotonicUs,
    randomness: () => 0.5,
    timers: {
      after: (_, callback) => {
        due.push(callback)
        return () => {}
      },
      afterPoll: (callback) => callback(),
    },
    remote: {
      ...createSharedStore(monotonicUs).connect().remote,
      debit: async ({ id }) => {
        sent.push(id)
        return { kind: 'unknown' }
      },
    },
  })
  const settled = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  accounts.charge(asked, accounts.look(asked), 3)
  debts.payBefore(asked)
  await settled()
  expect(sent).toHaveLength(1)
  nowUs += 100_000
  due.pop()?.()
  await settled()
  expect(new Set(sent).size).toBe(1)
  expect(sent).toHaveLength(2)
  nowUs += REMEMBERED_US
  due.pop()?.()
  await settled()
  expect(sent).toHaveLength(2)
  expect(debts.stats().lostNano).toBe(nanoTokens(3))
})
