import { isMap, isScalar, type Pair, parseDocument, stringify } from 'yaml'

export type Value = { readonly path: string; readonly description: string; readonly fallback: string }

/** Every value of a chart that can be set by itself, with the comment above it; those of a list or of an empty mapping as a whole. */
export const readValues = (text: string): readonly Value[] => {
  const document = parseDocument(text)
  return isMap(document.contents) ? document.contents.items.flatMap((pair) => valuesOf(pair as Pair, '', '')) : []
}

/** A value of one whole word that says nothing which its name does not say. */
const PLAIN: Readonly<Record<string, string>> = {
  nodeSelector: 'Of the pods.',
  tolerations: 'Of the pods.',
  affinity: 'Of the pods.',
  podAnnotations: 'Of the pods.',
  podLabels: 'Of the pods.',
  annotations: 'Of the object.',
  resources: 'Of the container.',
  enabled: 'Whether there is one.',
  minReplicas: 'Fewest pods.',
  maxReplicas: 'Most pods.',
  className: "The cluster's default class if empty.",
  port: 'Of the service.',
  interval: 'Between two scrapes.',
  replicasPerPrimary: 'Redis that follow each primary and take over from it.',
  fallbackRefill: 'Of that local bucket.',
  name: "The chart's full name if empty and created.",
  repository: 'Of the image, with its registry.',
  tag: 'Of the image.',
  pullPolicy: 'Always, IfNotPresent or Never.',
}

const valuesOf = ({ key, value }: Pair, parent: string, above: string): readonly Value[] => {
  const name = isScalar(key) ? String(key.value) : ''
  const path = parent === '' ? name : `${parent}.${name}`
  // The comment of a mapping's first key belongs to the mapping in YAML's eyes.
  const own = commentOf(key) || above
  const node = value as unknown
  if (isMap(node) && node.items.length > 0 && !isWhole(name)) {
    const [first, ...rest] = node.items
    const inner = cleaned(node.commentBefore ?? '')
    return [
      ...(first === undefined ? [] : valuesOf(first as Pair, path, inner)),
      ...rest.flatMap((pair) => valuesOf(pair as Pair, path, '')),
    ]
  }
  const json = node === null ? null : (node as { readonly toJSON: () => unknown }).toJSON()
  return [{ path, description: own || PLAIN[name] || '', fallback: shown(path, json) }]
}

/** Written as a whole and not value by value. */
const isWhole = (name: string) => name === 'resources' || name === 'labels'

const commentOf = (key: unknown) => cleaned(isScalar(key) ? (key.commentBefore ?? '') : '')

/** Only the paragraph that touches the value. */
const cleaned = (comment: string) =>
  (comment.split(/\n\s*\n/).at(-1) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim()

const shown = (path: string, value: unknown) =>
  path === 'policies' ? 'see values.yaml' : `\`${stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()}\``

/** As a table in Markdown. */
export const formatValues = (values: readonly Value[]) =>
  [
    '| value | meaning | default |',
    '| --- | --- | --- |',
    ...values.map(
      ({ path, description, fallback }) => `| \`${path}\` | ${escaped(description)} | ${escaped(fallback)} |`,
    ),
    '',
  ].join('\n')

const escaped = (text: string) => text.replaceAll('|', '\\|')
