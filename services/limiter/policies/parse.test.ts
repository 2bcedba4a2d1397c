import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { parsePolicies } from './parse.ts'
import { policySet, toYaml, writeDocument } from './policy-file.arbitrary.ts'
import { formatProblem } from './problem.ts'

const parse = (...texts: readonly string[]) =>
  parsePolicies(texts.map((text, index) => ({ name: `${index + 1}.yaml`, text })))

const setOf = (text: string) => {
  const parsed = parse(text)
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'))
  const [set] = parsed.sets.values()
  if (set === undefined) throw new Error('no set')
  return set
}

const policyOf = (text: string, index = 0) => setOf(text).policies[index]

const problemsOf = (...texts: readonly string[]) => {
  const parsed = parse(...texts)
  return parsed.ok ? [] : parsed.problems.map(formatProblem)
}

const head = 'domain: api\nsubject: client\n'

test('a policy that says only its numbers matches all, counts by the subject, enforces and shares', () => {
  expect(policyOf(`${head}policies: [{ name: all, capacity: 60, refill: 0.2/s }]`)).toEqual({
    kind: 'counting',
    name: 'all',
    conditions: [],
    by: ['client'],
    rule: { capacityTokens: 60, refillTokens: 1, periodS: 5 },
    overrides: [],
    mode: 'enforce',
    onStoreFailure: 'share',
  })
})

test('a value is exact, a list has several, and a * at the end is any rest', () => {
  const text = `${head}policies: [{ name: a, match: { plan: free, route: ["GET /v1/*", x], tenant: "*" }, exempt: true }]`
  expect(policyOf(text)).toEqual({
    kind: 'exempt',
    name: 'a',
    conditions: [
      { attribute: 'plan', anyOf: [{ kind: 'exact', value: 'free' }] },
      {
        attribute: 'route',
        anyOf: [
          { kind: 'prefix', value: 'GET /v1/' },
          { kind: 'exact', value: 'x' },
        ],
      },
      { attribute: 'tenant', anyOf: [{ kind: 'prefix', value: '' }] },
    ],
  })
})

test('an empty by is one bucket for all', () => {
  expect(policyOf(`${head}policies: [{ name: all, by: [], capacity: 60, refill: 5/s }]`)).toMatchObject({ by: [] })
})

describe('overrides', () => {
  const policies =
    'policies: [{ name: p, by: [client, route], capacity: 60, refill: 5/s }, { name: q, capacity: 1, refill: 1/s }]\n'
  const overridesOf = (...overrides: readonly string[]) => {
    const policy = policyOf(`${head}${policies}overrides:\n${overrides.map((one) => `  - { ${one} }\n`).join('')}`)
    return policy?.kind === 'counting' ? policy.overrides : []
  }

  test('stand with the most specific first, and else in the order of the file', () => {
    const overrides = overridesOf(
      'policy: p, client: a, capacity: 1',
      'policy: q, client: a, capacity: 2',
      'policy: p, route: r, capacity: 3',
      'policy: p, route: r, client: b, capacity: 4',
      'policy: p, client: b, capacity: 5',
    )
    expect(overrides.map(({ rule }) => rule.capacityTokens)).toEqual([4, 1, 3, 5])
    expect(overrides[0]?.values).toEqual(
      new Map([
        ['route', 'r'],
        ['client', 'b'],
      ]),
    )
  })

  test('take the number that they leave out from the policy', () => {
    const overrides = overridesOf('policy: p, client: a, capacity: 600', 'policy: p, client: b, refill: 50/s')
    expect(overrides.map(({ rule }) => rule)).toEqual([
      { capacityTokens: 600, refillTokens: 5, periodS: 1 },
      { capacityTokens: 60, refillTokens: 50, periodS: 1 },
    ])
  })
})

describe('files', () => {
  test('may hold several documents, and may be several: a domain each', () => {
    const document = (domain: string) => `domain: ${domain}\nsubject: client\npolicies: []\n`
    const parsed = parse(`---\n${document('a')}---\n${document('b')}---\n`, document('c'))
    expect(parsed.ok && [...parsed.sets.keys()]).toEqual(['a', 'b', 'c'])
  })

  test('cannot share a domain: the second is told where the first is', () => {
    expect(problemsOf(`# one\n${head}policies: []`, `${head}policies: []`)).toEqual([
      '2.yaml:1:9 domain: is "api", as at 1.yaml:2: write all policies of a domain in one document',
    ])
  })

  test('are all told of, each by its name', () => {
    expect(
      problemsOf('domain: [', '', `${head}policies: []`, `${head}polices: []`).map((line) => line.slice(0, 10)),
    ).toEqual(['1.yaml:1:1', '2.yaml:1:1', '4.yaml:1:1', '4.yaml:1:9', '4.yaml:3:1'])
  })

  test('of JSON with tabs are read, and of Windows have the same addresses', () => {
    const json = JSON.stringify({ domain: 'api', subject: 'client', policies: [] }, null, '\t')
    expect(setOf(json).domain).toBe('api')
    expect(problemsOf('domain: api\r\nsubject: client\r\npolicies: 5\r\n')).toEqual([
      '1.yaml:3:11 policies: must be a list: list the policies of the domain, [] for none',
    ])
  })

  test('are YAML 1.2, whatever they say: no text turns into a boolean or an octal number', () => {
    const text = `%YAML 1.1\n---\n${head}policies: [{ name: a, match: { plan: [no, 0o7x, 1:30] }, exempt: true }]`
    expect(policyOf(text)?.conditions[0]?.anyOf.map(({ value }) => value)).toEqual(['no', '0o7x', '1:30'])
  })

  test('may use aliases', () => {
    const text = `${head}policies:\n  - { name: a, match: &free { plan: free }, capacity: 1, refill: 1/s }\n  - { name: b, match: *free, exempt: true }\n`
    expect(policyOf(text, 1)?.conditions).toEqual(policyOf(text, 0)?.conditions)
    expect(policyOf(text, 1)?.conditions).toHaveLength(1)
  })

  test('hold up to a megabyte, 1,000 policies and 10,000 overrides of a domain', () => {
    const policies = (number: number) =>
      `policies:\n${Array.from({ length: number }, (_, index) => `  - { name: p${index}, capacity: 1, refill: 1/s }\n`).join('')}`
    const overrides = (number: number) =>
      `overrides:\n${Array.from({ length: number }, (_, index) => `  - { policy: p0, client: c${index}, capacity: 1 }\n`).join('')}`
    expect(problemsOf(head + policies(1_000) + overrides(10_000))).toEqual([])
    expect(problemsOf(head + policies(1_001))).toEqual([
      '1.yaml:4:3 policies: has more than 1000 policies: count by an attribute instead of writing a policy for each value',
    ])
    expect(problemsOf(head + policies(1) + overrides(10_001))).toEqual([
      '1.yaml:6:3 overrides: has more than 10000 overrides: match groups of clients by an attribute, as in plan',
    ])
    const large = `${head}policies: []\n#`.padEnd(1024 * 1024, 'x')
    expect(problemsOf(large)).toEqual([])
    expect(problemsOf(`${large}x`)).toEqual(['1.yaml:1:1: is larger than 1048576 bytes: split it, one domain a file'])
  })
})

test('of more than 1,000 problems the first are told', () => {
  const problems = problemsOf(`${head}policies: []\noverrides:\n${'  - x\n'.repeat(1_500)}`)
  expect(problems).toHaveLength(1_001)
  expect(problems[0]).toMatch(/^1\.yaml:5:5 overrides\[0\]: must be a mapping/)
  expect(problems.at(-1)).toBe('1.yaml:1:1: has more problems: mend those above first')
})

test('an attribute value or name that no request can have is a problem', () => {
  const long = 'x'.repeat(1_025)
  expect(problemsOf(`${head}policies: [{ name: a, match: { ${long}: y, plan: ${long} }, exempt: true }]`)).toEqual([
    `1.yaml:3:32 policies[0].match[${JSON.stringify(`${long.slice(0, 64)}…`)}]: is longer than 1024 bytes, as no attribute is: shorten it`,
    '1.yaml:3:1068 policies[0].match.plan: is longer than 1024 bytes, as no attribute is: shorten it',
  ])
})

test('a domain as long as a request may name is the longest', () => {
  const document = (domain: string) => `domain: ${domain}\nsubject: client\npolicies: []\n`
  expect(problemsOf(document('ü'.repeat(128)))).toEqual([])
  expect(problemsOf(document('ü'.repeat(129)))).toEqual(['1.yaml:1:9 domain: is longer than 256 bytes: shorten it'])
})

test('any set of policies, written as YAML or JSON, is read back', () => {
  fc.assert(
    fc.property(policySet, fc.boolean(), (set, asJson) => {
      const text = asJson ? JSON.stringify(writeDocument(set)) : toYaml(set)
      expect(parse(text)).toEqual({ ok: true, sets: new Map([[set.domain, set]]) })
    }),
  )
})

const mutation = fc.record({
  at: fc.nat(),
  removed: fc.nat(8),
  inserted: fc.oneof(
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.constantFrom('*', '&a ', '- ', '\n', '\t', ': ', '"', '{', '['),
  ),
})

const damage = (text: string, { at, removed, inserted }: { at: number; removed: number; inserted: string }) => {
  const start = at % (text.length + 1)
  return text.slice(0, start) + inserted + text.slice(start + removed)
}

const damaged = fc
  .tuple(policySet, fc.array(mutation, { minLength: 1, maxLength: 4 }))
  .map(([set, mutations]) => mutations.reduce(damage, toYaml(set)))

test('no text makes it throw; what it tells lies within the file and says something', () => {
  const anyText = fc.oneof(
    damaged,
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('[', '{', '- ', '? ', '*a ', '&a ', ': ', '\n', ' ', '!', '%', '|'))
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      const parsed = parse(text)
      if (parsed.ok) return
      expect(parsed.problems.length).toBeGreaterThan(0)
      const lines = text.split('\n')
      for (const { line, column, problem } of parsed.problems) {
        expect(line).toBeGreaterThanOrEqual(1)
        expect(line).toBeLessThanOrEqual(lines.length)
        expect(column).toBeGreaterThanOrEqual(1)
        expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1)
        expect(problem).not.toBe('')
      }
    }),
    { numRuns: 1_000 },
  )
})

test('text nested deeper than the parser can follow is a problem', () => {
  for (const unit of ['[', '{a: ', '- ', '? ']) expect(problemsOf(unit.repeat(20_000)).length, unit).toBeGreaterThan(0)
  expect(problemsOf('['.repeat(20_000))).toEqual([
    expect.stringMatching(/^1\.yaml:1:\d+: is nested too deeply: nest less deeply$/),
  ])
})

test('names that mean something else in JavaScript are names like others', () => {
  const text = `${head}policies: [{ name: constructor, match: { constructor: x, toString: y }, exempt: true }]`
  expect(setOf(text).domain).toBe(domainName('api'))
  expect(policyOf(text)?.conditions.map(({ attribute }) => attribute)).toEqual(['constructor', 'toString'])
})
