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

test('two different lists of parts never give the same key', () => {
  fc.assert(
    fc.property(
      hostile,
      hostile,
      parts,
      hostile,
      hostile,
      parts,
      (domainA, nameA, valuesA, domainB, nameB, valuesB) => {
        const same = JSON.stringify([domainA, nameA, valuesA]) === JSON.stringify([domainB, nameB, valuesB])
        const [a, b] = [policyName(nameA), policyName(nameB)]
        expect(subjectGroup(domainName(domainA), nameA) === subjectGroup(domainName(domainB), nameB)).toBe(
          domainA === domainB && nameA === nameB,
        )
        expect(
          crossSubjectGroup(domainName(domainA), a, valuesA) === crossSubjectGroup(domainName(domainB), b, valuesB),
        ).toBe(same)
        expect(bucketKey(a, valuesA) === bucketKey(b, valuesB)).toBe(
          JSON.stringify([nameA, valuesA]) === JSON.stringify([nameB, valuesB]),
        )
      },
    ),
    { numRuns: 20_000 },
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
