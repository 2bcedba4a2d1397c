import { expect, test } from 'vitest'
import { expectExactAtScale } from './exact-at-scale.fixture.ts'

test('four limiters on a cluster admit to the token what the law allows, while limiters start, drain and are killed', async () => {
  expect(await expectExactAtScale({})).toBeGreaterThan(0)
}, 240_000)
