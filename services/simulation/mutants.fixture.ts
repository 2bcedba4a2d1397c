/** Bugs that could be made: what stands in a file below `services`, and what stands there instead. */
export type Mutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly put: string
}

export const mutants: readonly Mutant[] = [
  {
    name: 'what was admitted without the store is never charged',
    file: 'limiter/share/debts.ts',
    find: 'const outcome = await chargeOnce(debit)',
    put: `const outcome = { kind: 'nobody' } as unknown as DebitOutcome`,
  },
  {
    name: 'a debt is charged twice',
    file: 'limiter/share/debts.ts',
    find: 'chargedNano += nano',
    put: `void remote.debit({ ...debit, id: debit.id + '!' })`,
  },
  {
    name: 'that a debit is not sent a second time is taken for its never having been charged',
    file: 'limiter/share/debts.ts',
    find: `if (outcome.kind === 'unknown') mayBeCharged = true`,
    put: `mayBeCharged = outcome.kind === 'unknown'`,
  },
  {
    name: 'a debt that could not be charged is forgotten',
    file: 'limiter/share/debts.ts',
    find: 'accounts.owe(asked, nano)',
    put: '',
  },
  {
    name: 'a debt is charged while a late reply may still come',
    file: 'limiter/share/accounts.ts',
    find: 'account.unsettled += 1',
    put: '',
  },
  {
    name: 'a late reply that charged does not lessen the debt',
    file: 'limiter/share/accounts.ts',
    find: 'if (!charged) return',
    put: 'return',
  },
  {
    name: 'a late reply that refused lessens the debt',
    file: 'limiter/share/accounts.ts',
    find: 'if (!charged) return',
    put: '',
  },
  {
    name: 'accounts of shards that are well again are not looked for',
    file: 'limiter/share/debts.ts',
    find: 'if (accounts.size() > 0) payInTime()',
    put: '',
  },
  {
    name: 'every limiter takes the whole bucket for its share',
    file: 'limiter/share/accounts.ts',
    find: 'stretch: 1 / part(asked)',
    put: 'stretch: 1 / 1',
  },
  {
    name: 'a share begins full, whatever was last seen',
    file: 'limiter/share/accounts.ts',
    find: 'local: recall(asked)',
    put: 'local: { deficitNano: 0, atUs: monotonicUs() }',
  },
  {
    name: 'a share is not charged',
    file: 'limiter/share/sharing-store.ts',
    find: 'accounts.charge(asked, share, cost)',
    put: '',
  },
  {
    name: 'a call of unknown fate is sent again',
    file: 'limiter/redis/lane-queue.ts',
    find: 'const reply = await run(operations).catch(',
    put: 'const reply = await run(operations).catch(() => run(operations)).catch(',
  },
  {
    name: 'a take that timed out unsent is sent all the same',
    file: 'limiter/redis/lane.ts',
    find: 'if (queue.withdraw(queued)) return resolve(NOT_RUN)',
    put: 'if (String(queued).length > 0) return resolve(NOT_RUN)',
  },
  {
    name: 'late replies are not heard',
    file: 'limiter/redis/group-take.ts',
    find: `const isCharged = late.kind === 'ran' && late.value.granted`,
    put: 'const isCharged = false',
  },
  {
    name: 'a shard that was given up is never asked again',
    file: 'breaker/breaker.ts',
    find: `state = outcome === 'answered' ? closed() : open()`,
    put: 'state = open()',
  },
  {
    name: 'nobody watches the deadline',
    file: 'limiter/redis/lane.ts',
    find: 'timers.after(waitUs / 1000,',
    put: 'timers.after(waitUs,',
  },
  {
    name: 'merged takes are all told that they were granted',
    file: 'limiter/redis/replay.ts',
    find: 'granted: place < granted, replayed: false, readings',
    put: 'granted: granted > 0, replayed: false, readings',
  },
  {
    name: 'two calls of one shard are under way at once',
    file: 'limiter/redis/lane-queue.ts',
    find: 'if (!underWay && !scheduled)',
    put: 'if (!scheduled)',
  },
  {
    name: 'a bucket refills twice as fast as it should',
    file: 'bucket/bucket.ts',
    find: 'const wholeNano = 1000 * refillTokens',
    put: 'const wholeNano = 2000 * refillTokens',
  },
  {
    name: 'a bucket that is empty grants',
    file: 'simulation/model/redis-model.ts',
    find: 'if (enforced) granted = Math.min(granted, timesHeld(bucket, rule, cost))',
    put: '',
  },
  {
    name: 'a bucket is forgotten before it is full',
    file: 'simulation/model/redis-model.ts',
    find: 'fullAtUs: atUs + waitMs * 1000',
    put: 'fullAtUs: atUs + waitMs * 500',
  },
  {
    name: 'the id of a debit is not remembered',
    file: 'simulation/model/redis-model.ts',
    find: 'if (isRemembered) return { granted: 1, replayed: true }',
    put: '',
  },
  {
    name: 'nothing is remembered of what the store said',
    file: 'limiter/witness/witnesses.ts',
    find: 'named.set(name, { witness: witnessOf(left, span), rule, lineage, isLow })',
    put: '',
  },
  {
    name: 'a witness is not refilled',
    file: 'limiter/witness/witness.ts',
    find: 'refill({ deficitNano, atUs: 0 }, rule, elapsedUs)',
    put: 'refill({ deficitNano, atUs: 0 }, rule, 0 * elapsedUs)',
  },
  {
    name: 'the age of a witness counts from the reply, not from the call',
    file: 'limiter/witness/witness.ts',
    find: 'receivedUs - witness.sentUs + 1',
    put: 'receivedUs - witness.receivedUs + 1',
  },
  {
    name: 'what must be refused is refused for longer',
    file: 'limiter/witness/witnesses.ts',
    find: 'missingAfter(witness, asked.rule, mostElapsedUs(witness, nowUs))',
    put: 'missingAfter(witness, asked.rule, leastElapsedUs(witness, nowUs - 500_000))',
  },
  {
    name: 'credit is spent again and again',
    file: 'limiter/redis/credits.ts',
    find: 'account.credits.splice(index, 1)',
    put: 'account.credits.slice(index, index + 1)',
  },
  {
    name: 'a bucket goes back with the clock of the store',
    file: 'bucket/bucket.ts',
    find: 'if (bucket.atUs >= nowUs) return { deficitNano, atUs: bucket.atUs }',
    put: 'if (bucket.atUs >= nowUs) return { deficitNano, atUs: nowUs }',
  },
  {
    name: 'a bucket waits for a clock that was set back by a minute',
    file: 'bucket/bucket.ts',
    find: 'if (bucket.atUs - nowUs > REBASE_US) return { deficitNano, atUs: nowUs }',
    put: '',
  },
  {
    name: 'that a bucket follows a clock that was set back is not written',
    file: 'simulation/model/redis-model.ts',
    find: 'if (made === told && !isRebased) return told',
    put: 'if (made === told && String(isRebased).length > 0) return told',
  },
  {
    name: "a limiter that refuses by itself holds the store's time against its own",
    file: 'limiter/witness/witnesses.ts',
    find: 'nowUs - known.witness.receivedUs >= ASK_AGAIN_US',
    put: 'nowUs - known.witness.bucket.atUs >= ASK_AGAIN_US',
  },
  {
    name: 'a witness is compared whatever its epoch',
    file: 'limiter/witness/witness.ts',
    find: 'told.ruleHash !== ruleHash || isOlder(witness.epoch, told.epoch)) return 0',
    put: 'told.ruleHash !== ruleHash) return 0',
  },
  {
    name: 'a witness is compared whatever its rule',
    file: 'limiter/witness/witness.ts',
    find: 'if (witness.ruleHash !== ruleHash || told.ruleHash !== ruleHash || isOlder',
    put: 'if (isOlder',
  },
  {
    name: 'another rule begins no epoch',
    file: 'simulation/model/redis-model.ts',
    find: 'told.ruleHash === hash ? told.epoch : (told.epoch + 1) % EPOCHS',
    put: 'told.epoch',
  },
  {
    name: 'a reset deletes the bucket',
    file: 'simulation/model/redis-model.ts',
    find: 'write(name, rule, { bucket, epoch, grantedTokens: 0, ruleHash: ruleHash(rule) })',
    put: 'isWritten = epoch > 0 && bucket.deficitNano === 0 && rule !== undefined && entries.delete(name)',
  },
  {
    name: 'a bucket that was reset is forgotten while others remember it emptier',
    file: 'simulation/model/redis-model.ts',
    find: 'Math.max(untilFullUs(bucket, rule), emptyUs, keptUs)',
    put: 'Math.max(untilFullUs(bucket, rule), 0 * (emptyUs + keptUs))',
  },
  {
    name: 'the store is not told what it has forgotten',
    file: 'limiter/redis/witnessed-run.ts',
    find: 'if (lost.length > 0) teaching = teach(lost)',
    put: 'if (lost.length > 0) hasChanged = false',
  },
  {
    name: 'whatever failed is sent again',
    file: 'limiter/redis/retry-not-run.ts',
    find: 'if (!hasNotRun(error, PASSING) || monotonicUs() >= endUs) throw error',
    put: 'if (monotonicUs() >= endUs) throw error',
  },
  {
    name: 'a connection that ended is taken for a call that has not run',
    file: 'limiter/redis/not-run.ts',
    find: '/^(?:NOTSENT|TRYAGAIN|CLUSTERDOWN|',
    put: '/^(?:NOTSENT|read ECONNRESET|TRYAGAIN|CLUSTERDOWN|',
  },
  {
    name: 'a client asks again when its deadline is over',
    file: 'limiter-client/client.ts',
    find: `const outcome = lagMs < deadlineMs / 2 ? 'failed' : 'inconclusive'`,
    put: `void transport.ask(check, deadlineMs)
      const outcome = lagMs < deadlineMs / 2 ? 'failed' : 'inconclusive'`,
  },
  {
    name: 'a check that was lost is asked as often as it takes',
    file: 'limiter-client/replicas/replica-set.ts',
    find: 'if (question.isRepeat || question.endUs',
    put: 'if (question.endUs',
  },
  {
    name: 'a check that may have been charged is asked again as if it had not been sent',
    file: 'limiter-client/replicas/replica-set.ts',
    find: 'for (const question of unsent) ask(question)',
    put: 'for (const question of [...unsent, ...sent]) ask(question)',
  },
  {
    name: 'a client does not watch its deadline',
    file: 'limiter-client/deadline.ts',
    find: 'if (nowUs >= endUs) onExpiry',
    put: 'if (nowUs >= 2 * endUs) onExpiry',
  },
  {
    name: 'what a client admits alone is not counted',
    file: 'limiter-client/local-buckets.ts',
    find: 'const bucket = held ? charge(before, cost) : before',
    put: 'const bucket = held ? charge(before, 0 * cost) : before',
  },
  {
    name: 'questions of two frames have the same numbers',
    file: 'limiter-client/channel/check-stream.ts',
    find: 'nextId = idAfter(nextId, batch.length)',
    put: '',
  },
  {
    name: 'a limiter that says nothing is never given up',
    file: 'limiter-client/channel/check-stream.ts',
    find: 'if (nowUs - heardAtUs > patienceUs) end',
    put: 'if (nowUs - heardAtUs > 1000 * patienceUs) end',
  },
  {
    name: 'a lost connection is not opened again',
    file: 'limiter-client/channel/replica.ts',
    find: 'callOff = timers.after(delayMs * (0.5 + randomness() / 2), () => {\n      current = open()\n    })',
    put: 'callOff = timers.after(delayMs * (0.5 + randomness() / 2), () => {})',
  },
  {
    name: 'limiters are forgotten while their names cannot be looked up',
    file: 'limiter-client/replicas/follow-addresses.ts',
    find: 'if (found.length > 0 && found.join() !== known)',
    put: 'if (found.join() !== known)',
  },
  {
    name: "another client's refusal is remembered",
    file: 'limiter-client/refusal-memory.ts',
    find: 'const found = refusals.get(key)',
    put: 'const [found] = refusals.values()',
  },
  {
    name: 'what the store charged late is given away again by the share',
    file: 'limiter/share/accounts.ts',
    find: `const paidNano = stretchedNano(costTokens, asked.rule, stretch) - chargedNano
        account.base = capped(chargeNano(base, chargedNano), asked)`,
    put: 'const paidNano = stretchedNano(costTokens, asked.rule, stretch)',
  },
  {
    name: 'over a new connection the store is not told what it may have forgotten',
    file: 'limiter/redis/witnessed-run.ts',
    find: 'if (!hasChanged && over !== undefined) return operation',
    put: 'if (operations.length > 0) return operation',
  },
]
