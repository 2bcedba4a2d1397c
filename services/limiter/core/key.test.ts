import fc from 'fast-check'
import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { bucketKey, crossSubjectGroup, subjectGroup } from './key.ts'

// Short strings over the characters that could confuse a join.
const hostile = fc.string({
  unit: fc.constantFrom('a', ':', '%', '{', '}', '3', 'A', ' ', '\n', '\u0000', 'é', '💥'),
  maxLength: 4,
})
const parts = fc.array(hostile, { maxLength: 3 })

// A key that can be read back into its parts is that of no other parts.
const partsOf = (key: string) =>
  key.split(':').map((part) => part.replace(/%(..)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))))

test('two different lists of parts never give the same key: each can be read back', () => {
  fc.assert(
    fc.property(hostile, hostile, parts, (domain, name, values) => {
      expect(partsOf(subjectGroup(domainName(domain), name))).toEqual(['s', domain, name])
      expect(partsOf(crossSubjectGroup(domainName(domain), policyName(name), values))).toEqual([
        'p',
        domain,
        name,
        ...values,
      ])
      expect(partsOf(bucketKey(policyName(name), values))).toEqual([name, ...values])
    }),
    { numRuns: 10_000 },
  )
})

test('no subject shares a group with a policy across subjects', () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, parts, (domain, subject, name, values) => {
      const group = crossSubjectGroup(domainName(domain), policyName(name), values)
      expect(subjectGroup(domainName(domain), subject)).not.toBe(group)
    }),
  )
})

test('a brace, a space or a control character never reaches a key', () => {
  fc.assert(
    fc.property(hostile, hostile, (domain, subject) => {
      expect(subjectGroup(domainName(domain), subject)).not.toMatch(/[{}\s\p{Cc}]/u)
    }),
  )
})
