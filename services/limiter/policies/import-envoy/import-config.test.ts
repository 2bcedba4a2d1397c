import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { attributesOf } from '../../core/descriptor.ts'
import { matchTogether } from '../../core/match.ts'
import { parsePolicies } from '../parse.ts'
import { formatProblem } from '../problem.ts'
import { importConfig } from './import-config.ts'
import { findLimit, type OracleRule } from './lookup.oracle.ts'

const importText = (text: string) => {
  const imported = importConfig([{ name: 'config.yaml', text }])
  if (!imported.ok) throw new Error(imported.problems.map(formatProblem).join('\n'))
  return { text: imported.files.map((file) => file.text).join('---\n'), notes: imported.notes.map(formatProblem) }
}

const setOf = (text: string) => {
  const parsed = parsePolicies([{ name: 'policies.yaml', text }])
  if (!parsed.ok) throw new Error(`${parsed.problems.map(formatProblem).join('\n')}\n${text}`)
  const [set] = parsed.sets.values()
  if (set === undefined) throw new Error('no set')
  return set
}

/** The policies of a configuration, without where they came from. */
const policiesOf = (text: string) =>
  importText(text)
    .text.split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')

/** What applies to descriptors that come in one request: policies' names. */
const applied = (text: string, ...descriptors: readonly (readonly (readonly [string, string])[])[]) =>
  matchTogether(
    setOf(importText(text).text),
    descriptors.map((pairs) => attributesOf(pairs.map(([key, value]) => ({ key, value })))),
  ).map((found) => (found.kind === 'counted' ? found.matched.map(({ policy }) => policy.name).join() : found.kind))

describe('a construct of envoyproxy/ratelimit', () => {
  test('key and value: a bucket for the value', () => {
    const config = `
domain: mongo_cps
descriptors:
  - key: database
    value: users
    rate_limit: { unit: second, requests_per_unit: 500 }
  - key: database
    value: default
    rate_limit: { unit: second, requests_per_unit: 500 }
`
    expect(policiesOf(config)).toBe(`domain: mongo_cps
subject: database
policies:
  - name: database-users
    match: { descriptor: database, database: users }
    by: []
    capacity: 500
    refill: 500/s
  - name: database-default
    match: { descriptor: database, database: default }
    by: []
    capacity: 500
    refill: 500/s
`)
    expect(applied(config, [['database', 'users']], [['database', 'other']])).toEqual(['database-users', ''])
  })

  test('nested descriptors, and a key without a value: a bucket for each value', () => {
    expect(
      policiesOf(`
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    descriptors:
      - key: to_number
        rate_limit: { unit: day, requests_per_unit: 5 }
  - key: to_number
    rate_limit: { unit: day, requests_per_unit: 100 }
`),
    ).toBe(`domain: messaging
subject: to_number
policies:
  - name: message-type-marketing-to-number
    match: { descriptor: "message_type,to_number", message_type: marketing }
    by: [to_number]
    capacity: 5
    refill: 5/d
  - name: to-number
    match: { descriptor: to_number }
    by: [to_number]
    capacity: 100
    refill: 100/d
`)
  })

  test('the most specific match; a limit of 0 lets nobody pass', () => {
    const config = `
domain: edge_proxy_per_ip
descriptors:
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
  - key: remote_address
    value: 50.0.0.5
    rate_limit: { unit: second, requests_per_unit: 0 }
`
    expect(policiesOf(config)).toContain('unless: { remote_address: "50.0.0.5" }')
    expect(policiesOf(config)).toContain('block: true')
    expect(applied(config, [['remote_address', '50.0.0.5']], [['remote_address', '50.0.0.1']])).toEqual([
      'remote-address-50-0-0-5',
      'remote-address',
    ])
  })

  test('a value with another number than its key is an override', () => {
    expect(
      policiesOf(`
domain: edge
descriptors:
  - key: api_key
    rate_limit: { unit: minute, requests_per_unit: 10 }
  - key: api_key
    value: "42"
    rate_limit: { unit: hour, requests_per_unit: 5000 }
`),
    ).toBe(`domain: edge
subject: api_key
policies:
  - name: api-key
    match: { descriptor: api_key }
    by: [api_key]
    capacity: 10
    refill: 10/min
overrides:
  - { policy: api-key, api_key: "42", capacity: 5000, refill: 5000/h }
`)
  })

  test('depth: a limit is for descriptors with exactly its keys', () => {
    const config = `
domain: example
descriptors:
  - key: key
    value: value
    rate_limit: { requests_per_unit: 300, unit: second }
`
    expect(
      applied(
        config,
        [['key', 'value']],
        [
          ['key', 'value'],
          ['subkey', 'subvalue'],
        ],
      ),
    ).toEqual(['key-value', ''])
  })

  test('unlimited is exempt', () => {
    const config = `
domain: internal
descriptors:
  - key: ldap
    rate_limit: { unlimited: true }
  - key: azure
    rate_limit: { unit: minute, requests_per_unit: 100 }
`
    expect(policiesOf(config)).toContain('exempt: true')
    expect(applied(config, [['ldap', 'x']], [['azure', 'x']])).toEqual(['exempt', 'azure'])
  })

  test('shadow_mode is mode: shadow', () => {
    expect(
      policiesOf(`
domain: example
descriptors:
  - key: service
    descriptors:
      - { key: user, value: user-a, rate_limit: { requests_per_unit: 10, unit: second }, shadow_mode: true }
      - { key: user, value: user-b, rate_limit: { requests_per_unit: 20, unit: second } }
`),
    ).toContain(`  - name: service-user-user-a
    match: { descriptor: "service,user", user: user-a }
    by: [service]
    capacity: 10
    refill: 10/s
    mode: shadow
`)
  })

  test('replaces takes the limits of a name out of the way, in all descriptors of the request', () => {
    const config = `
domain: example
descriptors:
  - key: key_1
    value: value_1
    descriptors:
      - { key: user, value: bkthomps, rate_limit: { name: specific_limit, requests_per_unit: 5, unit: second } }
  - key: key_2
    value: value_2
    descriptors:
      - { key: user, value: bkthomps, rate_limit: { replaces: [{ name: specific_limit }], requests_per_unit: 10, unit: second } }
`
    const one = [
      ['key_1', 'value_1'],
      ['user', 'bkthomps'],
    ] as const
    const two = [
      ['key_2', 'value_2'],
      ['user', 'bkthomps'],
    ] as const
    expect(applied(config, one)).toEqual(['key-1-value-1-user-bkthomps'])
    expect(applied(config, one, two)).toEqual(['', 'key-2-value-2-user-bkthomps'])
  })

  test('a wildcard has a bucket for each value, or with share_threshold one for all', () => {
    const config = `
domain: example
descriptors:
  - { key: files, value: files/*, share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: own, value: own/*, rate_limit: { unit: hour, requests_per_unit: 10 } }
`
    const { policies } = setOf(importText(config).text)
    expect(policies).toMatchObject([
      { by: [], conditions: [{}, { attribute: 'files', anyOf: [{ kind: 'prefix', value: 'files/' }] }] },
      { by: ['own'] },
    ])
  })

  test('detailed_metric and value_to_metric change no decision, and are named as left out', () => {
    const { notes } = importText(`
domain: example
descriptors:
  - key: route
    value_to_metric: true
    descriptors:
      - key: method
        detailed_metric: true
        rate_limit: { unit: minute, requests_per_unit: 60 }
`)
    expect(notes).toEqual([
      expect.stringMatching(/^config\.yaml:5:5 descriptors\[0]\.value_to_metric: is left out: /),
      expect.stringMatching(/^config\.yaml:8:9 descriptors\[0]\.descriptors\[0]\.detailed_metric: is left out: /),
    ])
  })

  test.each([
    ['second', '7/s'],
    ['MINUTE', '7/min'],
    ['hour', '7/h'],
    ['day', '7/d'],
    ['week', '7 per 7d'],
    ['month', '7 per 30d'],
  ])('the unit %s', (unit, refill) => {
    const text = policiesOf(
      `{ domain: d, descriptors: [{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: 7 } }] }`,
    )
    expect(text).toContain(`capacity: 7\n    refill: ${refill}\n`)
  })
})

test('each policy says where it came from', () => {
  const { text } = importText(
    'domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 7 }\n',
  )
  expect(text).toContain('  # config.yaml:3\n  - name: a\n')
})

test('in shadow every limit is rehearsed, and a limit of 0 is left out, also where another replaces it', () => {
  const text = `
domain: d
descriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 7, replaces: [{ name: none }, { name: every }] } }
  - { key: b, rate_limit: { unit: day, requests_per_unit: 0, name: none } }
  - { key: c, rate_limit: { unlimited: true, name: every } }
`
  const imported = importConfig([{ name: 'config.yaml', text }], { shadow: true })
  const { policies } = setOf(imported.ok ? (imported.files[0]?.text ?? '') : '')
  expect(policies).toMatchObject([
    { name: 'a', mode: 'shadow', replaces: ['c'] },
    { name: 'c', kind: 'exempt' },
  ])
})

describe('what cannot be expressed is refused by name and address', () => {
  const limit = 'rate_limit: { unit: day, requests_per_unit: 1 }'
  test.each([
    [
      'a year',
      'key: k, rate_limit: { unit: year, requests_per_unit: 12 }',
      /:3:\d+ .*rate_limit\.unit: is longer than .* 30 days: write/,
    ],
    [
      'an unknown unit',
      'key: k, rate_limit: { unit: fortnight, requests_per_unit: 1 }',
      /:3:\d+ .*must be one of second, .*"fortnight"/,
    ],
    [
      'a number too large for a bucket',
      'key: k, rate_limit: { unit: day, requests_per_unit: 4500001 }',
      /:3:\d+ descriptors\[0\]: as a policy’s capacity, must be .* 4500000/,
    ],
    [
      'a rate too large',
      'key: k, rate_limit: { unit: second, requests_per_unit: 1000001 }',
      /:3:\d+ .*must be at most 1000000\/s/,
    ],
    ['quota_mode', `key: k, quota_mode: true, ${limit}`, /:3:\d+ descriptors\[0\]\.quota_mode: has no counterpart/],
    [
      'a limit of 0 in shadow_mode',
      'key: k, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 0 }',
      /:3:\d+ .*limit of 0 in shadow_mode/,
    ],
    ['a wildcard for a key', `key: "k*", ${limit}`, /:3:\d+ .*key: ends with \*/],
    ['a * in the middle', `key: k, value: "a*b", ${limit}`, /:3:\d+ .*has a \* before its end/],
    [
      'share_threshold without a wildcard',
      `key: k, value: v, share_threshold: true, ${limit}`,
      /:3:\d+ .*is for a value that ends with \*/,
    ],
    ['unlimited with a unit', 'key: k, rate_limit: { unlimited: true, unit: day }', /:3:\d+ .*goes not with unlimited/],
    ['a key that is taken', `key: descriptor, ${limit}`, /:3:\d+ .*rename it/],
    ['no key', `value: v, ${limit}`, /:3:\d+ .*is empty: every descriptor has a key/],
    ['an unknown field', `key: k, rate_limits: {}, ${limit}`, /:3:\d+ .*did you mean rate_limit\?/],
    [
      'a limit that replaces itself',
      'key: k, rate_limit: { name: n, replaces: [{ name: n }], unit: day }',
      /:3:\d+ .*is the limit itself/,
    ],
  ])('%s', (_, fields, expected) => {
    const imported = importConfig([{ name: 'c.yaml', text: `domain: d\ndescriptors:\n  - { ${fields} }\n` }])
    expect(imported.ok ? [] : imported.problems.map(formatProblem)).toEqual([expect.stringMatching(expected)])
  })

  test('the same descriptor twice, the same domain in two files, and every other mistake at once', () => {
    const text = `domain: d\ndescriptors:\n  - { key: k, value: v, ${limit} }\n  - { key: k, value: v, ${limit} }\n`
    const imported = importConfig([
      { name: 'a.yaml', text },
      { name: 'b.yaml', text: 'domain: d\ndescriptors: [{ key: 1.5 }]\n' },
    ])
    expect(imported.ok ? [] : imported.problems.map(formatProblem)).toEqual([
      expect.stringMatching(/^a\.yaml:4:5 descriptors\[1\]: is the second descriptor "k_v" here/),
      expect.stringMatching(/^b\.yaml:1:9 domain: is "d", as in a\.yaml/),
      expect.stringMatching(/^b\.yaml:2:22 .*must be a text/),
      expect.stringMatching(/^b\.yaml:2:22 .*every descriptor has a key/),
    ])
  })
})

test('the policies find for any descriptor the limit that envoyproxy/ratelimit finds, and keep its counters apart or together', () => {
  const key = fc.constantFrom('a', 'b')
  const value = fc.constantFrom('x', 'xy', 'y')
  const anyRules = (depth: number): fc.Arbitrary<readonly OracleRule[]> =>
    fc
      .uniqueArray(
        fc.record(
          {
            key,
            value: fc.constantFrom('x', 'xy', 'x*', 'xy*', '*'),
            requests: fc.integer({ min: 0, max: 9 }),
            share: fc.boolean(),
            descriptors: depth === 0 ? fc.constant([]) : anyRules(depth - 1),
          },
          { requiredKeys: ['key', 'share', 'descriptors'] },
        ),
        { selector: (rule) => `${rule.key} ${rule.value}`, maxLength: 4 },
      )
      .map((drafts) =>
        drafts.map(
          ({ key: name, value: fixed, requests, share, descriptors }): OracleRule => ({
            key: name,
            ...(fixed !== undefined && { value: fixed }),
            ...(requests !== undefined && { rate_limit: { unit: 'minute', requests_per_unit: requests } }),
            ...(share && fixed?.endsWith('*') && { share_threshold: true }),
            descriptors,
          }),
        ),
      )
  const anyDescriptor = fc.array(fc.record({ key, value }), { minLength: 1, maxLength: 3 })
  let limited = 0
  fc.assert(
    fc.property(anyRules(2), fc.array(anyDescriptor, { minLength: 20, maxLength: 60 }), (rules, descriptors) => {
      const set = setOf(importText(stringify({ domain: 'd', descriptors: rules })).text)
      const counterOfBucket = new Map<string, string>()
      const bucketOfCounter = new Map<string, string>()
      for (const entries of descriptors) {
        const expected = findLimit(rules, entries)
        const [found] = matchTogether(set, [attributesOf(entries)])
        const matched = found?.kind === 'counted' ? found.matched : []
        expect(matched.map(({ asked }) => asked.rule.capacityTokens)).toEqual(
          expected === undefined ? [] : [expected.requests],
        )
        const [one] = matched
        if (expected === undefined || one === undefined || expected.requests === 0) continue
        limited += 1
        const bucket = `${one.asked.group} ${one.asked.key}`
        const other = { counter: counterOfBucket.get(bucket), bucket: bucketOfCounter.get(expected.counter) }
        expect(other).toEqual(
          other.counter === undefined
            ? { counter: undefined, bucket: undefined }
            : { counter: expected.counter, bucket },
        )
        counterOfBucket.set(bucket, expected.counter)
        bucketOfCounter.set(expected.counter, bucket)
      }
    }),
    { numRuns: 200 },
  )
  expect(limited).toBeGreaterThan(400)
}, 120_000)
