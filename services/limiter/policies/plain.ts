import { type Alias, isAlias, isMap, isScalar, isSeq, type ParsedNode, type YAMLMap, type YAMLSeq } from 'yaml'
import type { Path } from './fault.ts'

/** Deeper than any policy file needs, and shallow enough for recursion. */
const MAX_DEPTH = 32

/** Values of one document, counting what an alias stands for each time that it is used. */
const MAX_VALUES = 1_000_000

/** What each alias stands for. */
export type Targets = ReadonlyMap<Alias, ParsedNode>

export type SourceFault = { readonly offset: number; readonly path: Path; readonly problem: string }

type Plain = { readonly value: unknown; readonly size: number }
type Collection = YAMLMap.Parsed | YAMLSeq.Parsed

const NOTHING: Plain = { value: null, size: 1 }

/** Turns nodes into plain values. Aliases share what they stand for, so that a pile of them costs no memory. */
export const toPlain = (contents: ParsedNode | null) => {
  const anchors = new Map<string, Plain & { readonly node: ParsedNode }>()
  const targets = new Map<Alias, ParsedNode>()
  const faults: SourceFault[] = []
  let aliasedValues = 0

  const fail = (node: ParsedNode, path: Path, problem: string): Plain => {
    faults.push({ offset: node.range[0], path, problem })
    return NOTHING
  }

  const plain = (node: ParsedNode | null, path: Path): Plain => {
    if (node === null) return NOTHING
    if (isAlias(node)) return aliased(node, path)
    const made = isScalar(node) ? { value: node.value, size: 1 } : collected(node, path)
    // Not before: an alias cannot stand for what it is part of.
    if (node.anchor !== undefined) anchors.set(node.anchor, { ...made, node })
    return made
  }

  const aliased = (alias: Alias.Parsed, path: Path): Plain => {
    const anchored = anchors.get(alias.source)
    if (anchored === undefined)
      return fail(alias, path, 'is an alias of nothing before it: put a text that begins with * in quotes')
    targets.set(alias, anchored.node)
    const isFirstOver = aliasedValues <= MAX_VALUES && aliasedValues + anchored.size > MAX_VALUES
    aliasedValues += anchored.size
    if (isFirstOver) return fail(alias, path, `aliases stand for more than ${MAX_VALUES} values: write them out`)
    return aliasedValues > MAX_VALUES ? NOTHING : anchored
  }

  const collected = (node: Collection, path: Path): Plain => {
    if (path.length >= MAX_DEPTH) return fail(node, path, `is nested over ${MAX_DEPTH} levels deep: nest less deeply`)
    if (isMap(node)) return mapping(node, path)
    const items = node.items.map((item, index) => plain(item, [...path, index]))
    return { value: items.map(({ value }) => value), size: sizeOf(items) }
  }

  const mapping = (node: YAMLMap.Parsed, path: Path): Plain => {
    const fields = new Map<string, Plain>()
    for (const { key, value } of node.items) {
      const name = nameOf(key)
      const here = [...path, name]
      if (fields.has(name)) fail(key, here, 'is there twice: remove one')
      // Libraries skip this name, which means something else in JavaScript.
      else if (name === '__proto__') fail(key, here, 'cannot be the name of a field: use another')
      else fields.set(name, plain(value, here))
    }
    const entries = fields.entries().map(([name, { value }]) => [name, value] as const)
    return { value: Object.fromEntries(entries), size: sizeOf(fields.values()) }
  }

  const { value } = plain(contents, [])
  return { value, targets, faults }
}

// Keys are parsed as strings; any other is a mistake of syntax.
const nameOf = (key: ParsedNode) => (isScalar(key) ? String(key.value) : '')

const sizeOf = (parts: Iterable<Plain>) => {
  let size = 1
  for (const part of parts) size += part.size
  return size
}

type Search = {
  readonly contents: ParsedNode | null
  readonly targets: Targets
  readonly path: Path
  readonly at: 'key' | 'value'
}

/** Where the path leads in the file, or as far as the document goes along it. */
export const offsetOf = ({ contents, targets, path, at }: Search) => {
  let node = contents
  let offset = contents?.range[0] ?? 0
  for (const [index, part] of path.entries()) {
    const target = isAlias(node) ? targets.get(node) : node
    if (isMap(target)) {
      const pair = target.items.find(({ key }) => nameOf(key) === part)
      if (pair === undefined) return offset
      const wantsKey = at === 'key' && index === path.length - 1
      offset = (wantsKey ? pair.key : (pair.value ?? pair.key)).range[0]
      node = pair.value
    } else if (isSeq(target) && typeof part === 'number') {
      node = target.items[part] ?? null
      offset = node?.range[0] ?? offset
    } else return offset
  }
  return offset
}
