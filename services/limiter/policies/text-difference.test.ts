import { expect, test } from 'vitest'
import { textDifference } from './text-difference.ts'

const file = (text: string, name = 'a.yaml') => ({ name, text })

test('the difference is what diff -u shows', async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`)
  const changed = lines.with(10, 'another')
  const text = await textDifference([file(lines.join('\n'))], [file(`${changed.join('\n')}\n`, 'other.yaml')])
  expect(text?.split('\n').slice(-10)).toEqual([
    '@@ -8,7 +8,7 @@',
    ' line 7',
    ' line 8',
    ' line 9',
    '-line 10',
    '+another',
    ' line 11',
    ' line 12',
    ' line 13',
    '',
  ])
})

test('the same text has none, whatever its files are called', async () => {
  expect(await textDifference([file('a: 1\n', 'x')], [file('a: 1', 'y')])).toBe('')
})

test('what nobody would read is not looked for', async () => {
  const big = (first: string) => [file(Array.from({ length: 40_000 }, (_, index) => `${first}${index}`).join('\n'))]
  expect(await textDifference(big('a'), big('b'))).toBeUndefined()
  const huge = [file('a\n'.repeat(1_000_000))]
  expect(await textDifference(huge, [file('a\n')])).toBeUndefined()
})
