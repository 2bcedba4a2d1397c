import { expect, test } from 'vitest'
import { shownSubject } from './shown-subject.ts'

test.each([
  'user:acme',
  'ip:2001:db8::/64',
  'ip:203.0.113.7',
  'key:order-service-production-west',
  'user:4f9d3c1e-8f0a-4c0e-9b1d-2a6d1c0b9e77',
  'account 12345678901234567890',
])('%s is shown as it is', (subject) => {
  expect(shownSubject(subject)).toBe(subject)
})

test('a key is cut, and can be recognised by its digest', () => {
  const shown = shownSubject('key:weir_q83hTz0a9hVnq2Lx81bP')
  expect(shown).toMatch(/^key:weir_q83… \(sha256 [\da-f]{8}\)$/)
  expect(shownSubject('key:weir_q83hTz0a9hVnq2Lx81bQ')).not.toBe(shown)
})

test('a subject of any length is short', () => {
  expect(shownSubject('a '.repeat(500)).length).toBeLessThan(130)
})
