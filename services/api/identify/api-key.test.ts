import { expect, test } from 'vitest'
import { createApiKey, keyIdOf, redactApiKeys } from './api-key.ts'

test('a new key names its id, and no two are alike', () => {
  const made = Array.from({ length: 1_000 }, createApiKey)
  for (const { keyId, key } of made) expect(keyIdOf(key)).toBe(keyId)
  expect(new Set(made.map(({ key }) => key.slice(-48))).size).toBe(1_000)
})

test('the secret of every key in a text is blotted out, its id stays', () => {
  const first = createApiKey()
  const second = createApiKey()
  expect(redactApiKeys(`a ${first.key},x${second.key}0 b`)).toBe(
    `a weir_${first.keyId}_[redacted],xweir_${second.keyId}_[redacted]0 b`,
  )
})
