import type { ImportedDomain, ImportedPolicy } from './policies-of.ts'

type Domain = ImportedDomain & {
  readonly domain: string
  /** Where a policy came from, as in `api.yaml:12`. */
  readonly originOf: (policy: ImportedPolicy) => string
}

/** A domain as the text of a policy file. */
export const writeDomain = ({ domain, subject, policies, overrides, originOf }: Domain) =>
  [
    `domain: ${written(domain)}`,
    '# What a request takes from buckets with one value of this is taken in one step; most limits count by it.',
    `subject: ${written(subject)}`,
    policies.length === 0 ? 'policies: []' : 'policies:',
    ...policies.flatMap((policy) => [`  # ${originOf(policy)}`, ...writePolicy(policy)]),
    ...(overrides.length === 0 ? [] : ['overrides:']),
    ...overrides.map(
      ({ policy, attribute, value, capacity, refill }) =>
        `  - { policy: ${policy}, ${written(attribute)}: ${written(value)}, capacity: ${capacity}, refill: ${refill} }`,
    ),
    '',
  ].join('\n')

const writePolicy = ({ name, match, unless, by, kind, replaces }: ImportedPolicy): readonly string[] => {
  const head = [
    `  - name: ${name}`,
    `    match: ${writeMapping(match)}`,
    ...(Object.keys(unless).length === 0 ? [] : [`    unless: ${writeMapping(unless)}`]),
    ...(replaces.length === 0 ? [] : [`    replaces: ${writeList(replaces)}`]),
  ]
  if (kind === 'exempt') return [...head, '    exempt: true']
  if (kind === 'block') return [...head, '    block: true']
  const mode = kind.mode === 'shadow' ? ['    mode: shadow'] : []
  return [...head, `    by: ${writeList(by)}`, `    capacity: ${kind.capacity}`, `    refill: ${kind.refill}`, ...mode]
}

const writeMapping = (mapping: Readonly<Record<string, readonly string[]>>) =>
  `{ ${Object.entries(mapping)
    .map(
      ([name, [first = '', ...more]]) =>
        `${written(name)}: ${more.length === 0 ? written(first) : writeList([first, ...more])}`,
    )
    .join(', ')} }`

const writeList = (items: readonly string[]) => `[${items.map(written).join(', ')}]`

/** JSON is YAML: what is not plainly a text is written in its quotes. */
const written = (text: string) =>
  /^[A-Za-z_][\w/-]*$/.test(text) && !WORDS.has(text.toLowerCase()) ? text : JSON.stringify(text)

const WORDS = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n'])
