import { type Document, type ErrorCode, isScalar, LineCounter, type ParsedNode, parseAllDocuments } from 'yaml'
import { formatPath, type Path } from './fault.ts'
import { offsetOf, toPlain } from './plain.ts'
import { fileProblem, type PolicyFile, type PolicyProblem } from './problem.ts'

/** As much as a Kubernetes ConfigMap holds. */
export const MAX_FILE_BYTES = 1024 * 1024

export const TOO_LARGE = `is larger than ${MAX_FILE_BYTES} bytes: split it, one domain a file`

export type Place = { readonly line: number; readonly column: number }

/** One document of a YAML or JSON file: plain values, and where the file has them. */
export type SourceDocument = {
  readonly value: unknown
  /** Where the path leads, or as far as the document goes along it. */
  readonly placeOf: (path: Path, at: 'key' | 'value') => Place
}

export type Source = {
  /** Those without a mistake of syntax; empty ones are left out. */
  readonly documents: readonly SourceDocument[]
  readonly problems: readonly PolicyProblem[]
}

/** Parses a file as YAML 1.2, of which JSON is a part. */
export const parseSource = (file: PolicyFile): Source => {
  const failed = (problem: string): Source => ({ documents: [], problems: [fileProblem(file.name, problem)] })
  if (Buffer.byteLength(file.text) > MAX_FILE_BYTES) return failed(TOO_LARGE)
  const parsed = parseYaml(file.text)
  if (!parsed.ok) return failed(parsed.problem)
  const filled = parsed.documents.filter((document) => !isEmpty(document))
  if (filled.length === 0) return failed('is empty: write a domain, its subject and its policies')
  const placeAt = placesOf(file.text)
  const sources = filled.map((document) => readDocument(document, file.name, placeAt))
  return {
    documents: sources.flatMap(({ documents }) => documents),
    problems: sources.flatMap(({ problems }) => problems),
  }
}

const isEmpty = ({ contents, errors }: Document.Parsed) =>
  errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null))

type ParsedYaml =
  | { readonly ok: true; readonly documents: readonly Document.Parsed[] }
  | { readonly ok: false; readonly problem: string }

const parseYaml = (text: string): ParsedYaml => {
  try {
    const documents = parseAllDocuments<ParsedNode>(text, {
      schema: 'core',
      merge: false,
      resolveKnownTags: false,
      stringKeys: true,
      // toPlain checks them: the library compares each key with all others.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
    })
    return { ok: true, documents }
  } catch (error) {
    // The library recurses, and gives way to nesting that no person wrote.
    return { ok: false, problem: `cannot be parsed: ${error instanceof Error ? error.message : String(error)}` }
  }
}

type PlaceAt = (offset: number) => Place

const placesOf = (text: string): PlaceAt => {
  // The parser would count them too, but loses some over text that it cannot make sense of.
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1)
  return (offset) => {
    const { line, col } = lines.linePos(Math.min(offset, text.length))
    return { line, column: col }
  }
}

const readDocument = (document: Document.Parsed, file: string, placeAt: PlaceAt): Source => {
  const problemAt = (offset: number, path: Path, problem: string): PolicyProblem => ({
    file,
    ...placeAt(offset),
    path: formatPath(path),
    problem,
  })
  const broken = mistakesOf(document)
  if (broken.length > 0) {
    const problems = broken.map(({ code, message, pos }) => problemAt(pos[0], [], syntaxProblem(code, message)))
    return { documents: [], problems }
  }
  const { value, targets, faults } = toPlain(document.contents)
  return {
    documents: [
      { value, placeOf: (path, at) => placeAt(offsetOf({ contents: document.contents, targets, path, at })) },
    ],
    problems: faults.map(({ offset, path, problem }) => problemAt(offset, path, problem)),
  }
}

const mistakesOf = ({ errors, warnings }: Document.Parsed) => {
  // Where the parser ran out of stack it loses its place; what it says afterwards is noise.
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  return exhausted === undefined ? [...errors, ...warnings] : [exhausted]
}

const syntaxProblem = (code: ErrorCode, message: string) =>
  IN_OUR_WORDS[code] ?? `${message}: ${REMEDIES[code] ?? 'check the indentation, quotes and brackets here'}`

type ByCode = Readonly<Partial<Record<ErrorCode, string>>>

const IN_OUR_WORDS: ByCode = {
  BAD_ALIAS: 'is no name of an anchor: put a text that begins with * or & in quotes',
  NON_STRING_KEY: 'the name of a field is not a text: write one',
  RESOURCE_EXHAUSTION: 'is nested too deeply: nest less deeply',
}

const REMEDIES: ByCode = {
  BAD_DIRECTIVE: 'remove the directive',
  BAD_DQ_ESCAPE: 'double the backslash, or use single quotes',
  BAD_SCALAR_START: 'put the text in quotes',
  TAB_AS_INDENT: 'indent by spaces',
  TAG_RESOLVE_FAILED: 'remove the tag',
}
