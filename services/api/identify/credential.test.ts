import { describe, expect, test } from 'vitest'
import { readCredential } from './credential.ts'

const token = `weir_0123456789ab_${'f'.repeat(48)}`

describe('the Authorization header', () => {
  test('none is no credential', () => {
    expect(readCredential([])).toEqual({ kind: 'none' })
  })

  test.each([`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`, `Bearer ${token} `])(
    '%j carries the token',
    (line) => {
      expect(readCredential([line])).toEqual({ kind: 'bearer', token })
    },
  )

  test.each([
    [''],
    ['Bearer'],
    ['Bearer '],
    [`Bearer${token}`],
    [`Bearer\t${token}`],
    [`Bearer ${token}, Bearer ${token}`],
    [`Bearer ${token} ${token}`],
    [`Bearer "${token}"`],
    [`Bearer ${'x'.repeat(257)}`],
    [`Bearer tök`],
    [`Basic dXNlcjpwYXNz`],
    [`Token ${token}`],
    [` Bearer ${token}`],
    [token],
    [`Bearer ${token}`, `Bearer ${token}`],
    [`Bearer ${token}`, ''],
  ])('%j is malformed, and its problem does not repeat it', (...lines) => {
    const credential = readCredential(lines)
    expect(credential.kind).toBe('malformed')
    expect(JSON.stringify(credential)).not.toContain('weir_0')
  })
})
