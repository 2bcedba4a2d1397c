import { describe, expect, test } from 'vitest'
import { createApiKey, hashApiKey } from './api-key.ts'
import type { KeyRecord } from './api-keys.ts'
import { parseKeyFile } from './key-file.ts'
import { formatKeyLine } from './key-line.ts'

const makeRecord = (owner: string | undefined): KeyRecord => {
  const { keyId, key } = createApiKey()
  return { keyId, hash: hashApiKey(key), owner, plan: 'free', permissions: new Set(['orders:read', 'orders:write']) }
}
const record = makeRecord('acme')
const right = JSON.parse(formatKeyLine(record)) as Record<string, unknown>
const line = (change: Record<string, unknown>) => JSON.stringify({ ...right, ...change })

describe('a file of keys', () => {
  test('what is formatted is parsed back', () => {
    const records = [record, makeRecord(undefined), { ...makeRecord('b@example.org'), permissions: new Set<never>() }]
    const text = `${records.map(formatKeyLine).join('\n')}\n\n`
    const parsed = parseKeyFile(text)
    expect(parsed).toEqual({ ok: true, keys: new Map(records.map((each) => [each.keyId, each])) })
  })

  test('Windows line ends are read', () => {
    expect(parseKeyFile(`${formatKeyLine(record)}\r\n`).ok).toBe(true)
  })

  test.each([
    ['not JSON', '{', ['1 is not a JSON object']],
    ['a list', '[]', ['1 is not a JSON object']],
    ['a misspelt member', line({ permission: [] }), ['1 has an unknown member "permission"']],
    ['another id', line({ id: 'abc' }), ['1 id must be 12 hexadecimal digits']],
    [
      'a key instead of its hash',
      line({ hash: createApiKey().key }),
      ['1 hash must be "sha256:" and 64 hexadecimal digits'],
    ],
    ['an empty owner', line({ owner: '' }), ['1 owner must be 1 to 128 visible ASCII characters, no spaces']],
    ['an owner with a space', line({ owner: 'a b' }), ['1 owner must be 1 to 128 visible ASCII characters, no spaces']],
    ['another plan', line({ plan: 'gold' }), ['1 plan must be one of free, pro']],
    [
      'another permission',
      line({ permissions: ['orders:*'] }),
      ['1 permissions must be a list of orders:read, orders:write'],
    ],
    [
      'a permission that is no list',
      line({ permissions: 'orders:read' }),
      ['1 permissions must be a list of orders:read, orders:write'],
    ],
    ['an id twice', `${line({})}\n\n${line({})}`, ['3 has the id of an earlier line']],
    [
      'several faults',
      `{}\n${line({ plan: 1, id: 2 })}`,
      [
        '1 id must be 12 hexadecimal digits',
        '1 hash must be "sha256:" and 64 hexadecimal digits',
        '1 plan must be one of free, pro',
        '1 permissions must be a list of orders:read, orders:write',
        '2 id must be 12 hexadecimal digits',
        '2 plan must be one of free, pro',
      ],
    ],
  ])('%s is refused with its line', (_mistake, text, problems) => {
    expect(parseKeyFile(text)).toEqual({ ok: false, problems })
  })

  test('a file of nothing but faults is told in a bounded message', () => {
    const parsed = parseKeyFile('x\n'.repeat(1_000))
    expect(parsed.ok ? [] : parsed.problems).toHaveLength(21)
    expect(parsed.ok ? '' : parsed.problems.at(-1)).toBe('… and 980 more')
  })
})
