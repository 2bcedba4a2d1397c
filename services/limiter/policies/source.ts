import { type Alias, type ErrorCode, isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document, ParsedNode } from 'yaml'
import { formatPath, type Path, quote } from './fault.ts'
import { fileProblem, type PolicyFile, type PolicyProblem } from './problem.ts'

/** As much as a Kubernetes ConfigMap holds. */
export const MAX_FILE_BYTES = 1024 * 1024

/** Deeper than any policy file needs, and shallow enough for recursion. */
const MAX_DEPTH = 32

/** Values of one document, counting what an alias stands for each time that it is used. */
const MAX_VALUES = 1_000_000

export type Place = { readonly line: number; readonly column: number }

/** One document of a YAML or JSON file: plain values, and where the file has them. */
export type SourceDocument = {
  readonly value: unknown
  /** Where the path leads, or as far as the document goes along it. */
  readonly placeOf: (path: Path, at: 'key' | 'value') => Place
}

export type Source = {
  /** Those that could be parsed; empty ones are left out. */
  readonly documents: readonly SourceDocument[]
  readonly problems: readonly PolicyProblem[]
}

/** Parses a file as YAML 1.2, of which JSON is a part. */
export const parseSource = (file: PolicyFile): Source => {
  const failed = (problem: string): Source => ({ documents: [], problems: [fileProblem(file.name, problem)] })
  if (Buffer.byteLength(file.text) > MAX_FILE_BYTES) return failed(TOO_LARGE)
  const lines = new LineCounter()
  const parsed = parseYaml(file.text, lines)
  if (!parsed.ok) return failed(parsed.problem)
  const filled = parsed.documents.filter(({ contents, errors }) => errors.length > 0 || !isEmpty(contents))
  if (filled.length === 0) return failed('is empty: write a domain, its subject and its policies')
  const sources = filled.map((document) => readDocument(document, file.name, lines))
  return {
    documents: sources.flatMap(({ documents }) => documents),
    problems: sources.flatMap(({ problems }) => problems),
  }
}

export const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes: split it, one domain a file`

const isEmpty = (contents: ParsedNode | null) => contents === null || (isScalar(contents) && contents.value === null)

type ParsedYaml =
  | { readonly ok: true; readonly documents: readonly Document.Parsed[] }
  | { readonly ok: false; readonly problem: string }

const parseYaml = (text: string, lineCounter: LineCounter): ParsedYaml => {
  try {
    const documents = parseAllDocuments(text, {
      lineCounter,
      schema: 'core',
      merge: false,
      resolveKnownTags: false,
      stringKeys: true,
      // Checked below: the library compares every key with every other.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
    })
    return { ok: true, documents }
  } catch (error) {
    // The library recurses; it gives way here to nesting that no person wrote.
    return { ok: false, problem: `cannot be parsed: ${error instanceof Error ? error.message : String(error)}` }
  }
}

const readDocument = (document: Document.Parsed, file: string, lines: LineCounter): Source => {
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return line === 0 ? { line: 1, column: 1 } : { line, column: col }
  }
  const problemAt = (offset: number, path: Path, problem: string): PolicyProblem => ({
    file,
    ...placeAt(offset),
    path: formatPath(path),
    problem,
  })
  const broken = [...document.errors, ...document.warnings]
  if (broken.length > 0) {
    const problems = broken.map(({ code, message, pos }) => problemAt(pos[0], [], syntaxProblem(code, message)))
    return { documents: [], problems }
  }
  const { value, targets, problems } = toPlain(document.contents, problemAt)
  const placeOf = (path: Path, at: 'key' | 'value') => placeAt(offsetOf(document.contents, targets, path, at))
  return { documents: [{ value, placeOf }], problems }
}

const syntaxProblem = (code: ErrorCode, message: string) =>
  `${message}: ${REMEDIES[code] ?? 'check the indentation, quotes and brackets here'}`

const REMEDIES: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'put a text that begins with * in quotes',
  BAD_DIRECTIVE: 'remove the directive',
  BAD_DQ_ESCAPE: 'double the backslash, or use single quotes',
  BAD_SCALAR_START: 'put the text in quotes',
  NON_STRING_KEY: 'use a plain text as the name of a field',
  RESOURCE_EXHAUSTION: 'nest less deeply',
  TAB_AS_INDENT: 'indent by spaces',
  TAG_RESOLVE_FAILED: 'remove the tag',
}

type Plain = { readonly value: unknown; readonly size: number }
type Anchored = Plain & { readonly node: ParsedNode }
/** What each alias stands for. */
type Targets = ReadonlyMap<Alias, ParsedNode>
type ProblemAt = (offset: number, path: Path, problem: string) => PolicyProblem

/** Turns nodes into plain values. Aliases share what they stand for, so a pile of them costs no memory. */
const toPlain = (contents: ParsedNode | null, problemAt: ProblemAt) => {
  const anchors = new Map<string, Anchored>()
  const targets = new Map<Alias, ParsedNode>()
  const problems: PolicyProblem[] = []
  const fail = (offset: number, path: Path, problem: string): Plain => {
    problems.push(problemAt(offset, path, problem))
    return { value: null, size: 1 }
  }
  let size = 0

  const plain = (node: ParsedNode | null, path: Path): Plain => {
    if (node === null) return { value: null, size: 1 }
    if (isAlias(node)) return aliased(node, path)
    const made = isScalar(node) ? { value: node.value, size: 1 } : collection(node, path)
    // Only now: an alias cannot stand for what it is part of.
    if (node.anchor !== undefined) anchors.set(node.anchor, { ...made, node })
    return made
  }

  const aliased = (alias: Alias.Parsed, path: Path): Plain => {
    const anchored = anchors.get(alias.source)
    if (anchored === undefined)
      return fail(alias.range[0], path, `no anchor &${alias.source} is complete before this: quote a text that begins with *`)
    targets.set(alias, anchored.node)
    size += anchored.size
    if (size > MAX_VALUES) return fail(alias.range[0], path, `aliases make more than ${MAX_VALUES} values: write them out`)
    return anchored
  }

  const collection = (node: Exclude<ParsedNode, Alias.Parsed>, path: Path): Plain => {
    if (path.length >= MAX_DEPTH) return fail(node.range[0], path, `is nested more than ${MAX_DEPTH} deep: nest less deeply`)
    if (isSeq(node)) {
      const items = node.items.map((item, index) => plain(item, [...path, index]))
      return { value: items.map(({ value }) => value), size: total(items) }
    }
    if (!isMap(node)) return { value: null, size: 1 }
    const fields = new Map<string, Plain>()
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      const here = [...path, name]
      if (fields.has(name)) fail(key.range[0], here, 'is there twice: remove one')
      // Libraries skip this name, because it stands for something else in JavaScript.
      else if (name === '__proto__') fail(key.range[0], here, 'cannot be the name of a field: use another')
      else fields.set(name, plain(value, here))
    }
    const entries = fields.entries().map(([name, { value }]) => [name, value] as const)
    return { value: Object.fromEntries(entries), size: total(fields.values()) }
  }

  const { value } = plain(contents, [])
  return { value, targets, problems }
}

const total = (parts: Iterable<Plain>) => {
  let size = 1
  for (const part of parts) size += part.size
  return size
}

const offsetOf = (contents: ParsedNode | null, targets: Targets, path: Path, at: 'key' | 'value') => {
  let node = contents
  let offset = contents?.range[0] ?? 0
  for (const [index, part] of path.entries()) {
    const target = isAlias(node) ? (targets.get(node) ?? null) : node
    if (isMap(target)) {
      const pair = target.items.find(({ key }) => isScalar(key) && key.value === part)
      if (pair === undefined) return offset
      const wantsKey = at === 'key' && index === path.length - 1
      offset = wantsKey ? pair.key.range[0] : (pair.value?.range[0] ?? pair.key.range[0])
      node = pair.value
    } else if (isSeq(target) && typeof part === 'number') {
      node = target.items[part] ?? null
      offset = node?.range[0] ?? offset
    } else return offset
  }
  return offset
}
