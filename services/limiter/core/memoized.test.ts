import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { memoized } from './memoized.ts'

const setOf = (subject: string) => ({ domain: domainName('api'), subject, policies: [] })

test('the same question is answered once for each set of policies, an equal one anew', () => {
  const asked: string[] = []
  const ask = memoized(({ subject }, question: { readonly of: string }) => {
    asked.push(`${subject} ${question.of}`)
    return { subject, ...question }
  })
  const [before, after] = [setOf('before'), setOf('after')]
  const [one, equal] = [{ of: 'a' }, { of: 'a' }]
  expect([ask(before, one), ask(before, one), ask(after, one), ask(before, one)]).toEqual(
    ['before', 'before', 'after', 'before'].map((subject) => ({ subject, of: 'a' })),
  )
  ask(before, equal)
  expect(asked).toEqual(['before a', 'after a', 'before a'])
})
