import { expect, test } from 'vitest'
import { expectExactAtScale } from './exact-at-scale.fixture.ts'

test('four limiters that remember nothing, so that Redis decides everything, admit to the token what the law allows', async () => {
  expect(await expectExactAtScale({ LIMITER_WITNESSES: 'off' })).toBe(0)
}, 240_000)
