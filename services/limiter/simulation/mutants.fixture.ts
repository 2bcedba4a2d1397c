/** Bugs that could be made: what stands in a file below `services/limiter`, and what stands there instead. */
export type Mutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly put: string
}

export const mutants: readonly Mutant[] = [
  {
    name: 'what was admitted without the store is never charged',
    file: 'share/debts.ts',
    find: 'const outcome = await chargeOnce(debit)',
    put: `const outcome = { kind: 'nobody' } as unknown as DebitOutcome`,
  },
  {
    name: 'a debt is charged twice',
    file: 'share/debts.ts',
    find: 'chargedNano += nano',
    put: `void remote.debit({ ...debit, id: debit.id + '!' })`,
  },
  {
    name: 'that a debit is not sent a second time is taken for its never having been charged',
    file: 'share/debts.ts',
    find: `if (outcome.kind === 'unknown') mayBeCharged = true`,
    put: `mayBeCharged = outcome.kind === 'unknown'`,
  },
  {
    name: 'a debt that could not be charged is forgotten',
    file: 'share/debts.ts',
    find: 'accounts.owe(asked, nano)',
    put: '',
  },
  {
    name: 'a debt is charged while a late reply may still come',
    file: 'share/accounts.ts',
    find: 'account.unsettled += 1',
    put: '',
  },
  {
    name: 'a late reply that charged does not lessen the debt',
    file: 'share/accounts.ts',
    find: 'if (!charged) return',
    put: 'return',
  },
  {
    name: 'a late reply that refused lessens the debt',
    file: 'share/accounts.ts',
    find: 'if (!charged) return',
    put: '',
  },
  {
    name: 'accounts of shards that are well again are not looked for',
    file: 'share/debts.ts',
    find: 'if (accounts.size() > 0) payInTime()',
    put: '',
  },
  {
    name: 'every limiter takes the whole bucket for its share',
    file: 'share/accounts.ts',
    find: 'stretch: 1 / part(asked)',
    put: 'stretch: 1 / 1',
  },
  {
    name: 'a share begins full, whatever was last seen',
    file: 'share/accounts.ts',
    find: 'local: recall(asked)',
    put: 'local: { deficitNano: 0, atUs: monotonicUs() }',
  },
  {
    name: 'a share is not charged',
    file: 'share/sharing-store.ts',
    find: 'accounts.charge(asked, share, cost)',
    put: '',
  },
  {
    name: 'a call of unknown fate is sent again',
    file: 'redis/lane-queue.ts',
    find: 'const reply = await run(operations).catch(',
    put: 'const reply = await run(operations).catch(() => run(operations)).catch(',
  },
  {
    name: 'a take that timed out unsent is sent all the same',
    file: 'redis/lane.ts',
    find: 'if (withdraw()) return resolve(NOT_RUN)',
    put: 'if (String(withdraw).length > 0) return resolve(NOT_RUN)',
  },
  {
    name: 'late replies are not heard',
    file: 'redis/group-take.ts',
    find: `const isCharged = late.kind === 'ran' && late.value.granted`,
    put: 'const isCharged = false',
  },
  {
    name: 'a shard that was given up is never asked again',
    file: '../breaker/breaker.ts',
    find: `state = outcome === 'answered' ? closed() : open()`,
    put: 'state = open()',
  },
  {
    name: 'nobody watches the deadline',
    file: 'redis/lane.ts',
    find: 'timers.after(waitUs / 1000,',
    put: 'timers.after(waitUs,',
  },
  {
    name: 'merged takes are all told that they were granted',
    file: 'redis/replay.ts',
    find: 'granted: place < granted, replayed: false, readings',
    put: 'granted: granted > 0, replayed: false, readings',
  },
  {
    name: 'two calls of one shard are under way at once',
    file: 'redis/lane-queue.ts',
    find: 'if (!underWay && !scheduled)',
    put: 'if (!scheduled)',
  },
  {
    name: 'a bucket refills twice as fast as it should',
    file: '../bucket/bucket.ts',
    find: 'const wholeNano = 1000 * refillTokens',
    put: 'const wholeNano = 2000 * refillTokens',
  },
  {
    name: 'a refusal is charged',
    file: 'simulation/redis-model.ts',
    find: 'for (; granted < times && named.every((one, index) => !one.enforced || canPay(index)); granted += 1)',
    put: 'for (; granted < times; granted += 1)',
  },
  {
    name: 'a bucket is forgotten before it is full',
    file: 'simulation/redis-model.ts',
    find: 'Math.ceil(waitUs / 1000) * 1000',
    put: 'Math.ceil(waitUs / 2000) * 1000',
  },
  {
    name: 'the id of a debit is not remembered',
    file: 'simulation/redis-model.ts',
    find: `if (memory !== undefined && first !== undefined) remember(memory, first.rule, nowUs)\n        return`,
    put: 'return',
  },
  {
    name: 'nothing is remembered of what the store said',
    file: 'witness/witnesses.ts',
    find: 'entries.set(name, { witness, lineage })',
    put: '',
  },
  {
    name: 'a witness is not refilled',
    file: 'witness/witness.ts',
    find: 'refill({ deficitNano, atUs: 0 }, rule, elapsedUs)',
    put: 'refill({ deficitNano, atUs: 0 }, rule, 0 * elapsedUs)',
  },
  {
    name: 'the age of a witness counts from the reply, not from the call',
    file: 'witness/witness.ts',
    find: 'receivedUs - witness.sentUs + 1',
    put: 'receivedUs - witness.receivedUs + 1',
  },
  {
    name: 'what must be refused is refused for longer',
    file: 'witness/witnesses.ts',
    find: 'missingAfter(witness, asked.rule, mostElapsedUs(witness, nowUs))',
    put: 'missingAfter(witness, asked.rule, leastElapsedUs(witness, nowUs - 500_000))',
  },
]
