import type { DomainName } from '../../contract/check.ts'
import type { PolicySet, PolicySets } from '../core/policy.ts'
import { type Fault, formatPath, quote, valueFault } from './fault.ts'
import { fileProblem, type PolicyFile, type PolicyProblem } from './problem.ts'
import { readSet } from './set.ts'
import { parseSource, type SourceDocument } from './source.ts'

/** Nobody mends more in one go, and a status page must stay one. */
const MAX_PROBLEMS = 1_000

export type ParsedPolicies =
  | { readonly ok: true; readonly sets: PolicySets }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

/** Reads all files to one set for each domain, or to every problem in them: by file, from top to bottom. */
export const parsePolicies = (files: readonly PolicyFile[]): ParsedPolicies => {
  const sets = new Map<DomainName, PolicySet>()
  const places = new Map<DomainName, string>()
  const problems: PolicyProblem[] = []
  for (const file of files) {
    const source = parseSource(file)
    const inFile = [...source.problems]
    const told = new Set(source.problems.map(addressOf))
    for (const document of source.documents) {
      const { domain, faults, set } = readSet(document.value)
      const first = domain === undefined ? undefined : places.get(domain)
      const located = locate([...faults, ...repeatedDomain(domain, first)], document, file.name)
      // What could not be made a value is missing now, which is no mistake of its own.
      inFile.push(...located.filter((problem) => !told.has(addressOf(problem))))
      if (set !== undefined) sets.set(set.domain, set)
      if (domain !== undefined && first === undefined)
        places.set(domain, `${file.name}:${document.placeOf(['domain'], 'value').line}`)
    }
    for (const problem of inFile.sort((a, b) => a.line - b.line || a.column - b.column)) problems.push(problem)
  }
  if (problems.length === 0) return { ok: true, sets }
  return { ok: false, problems: shorten(problems) }
}

const repeatedDomain = (domain: DomainName | undefined, first: string | undefined): readonly Fault[] =>
  domain === undefined || first === undefined
    ? []
    : [valueFault(['domain'], `is ${quote(domain)}, as at ${first}: write all policies of a domain in one document`)]

const locate = (faults: readonly Fault[], { placeOf }: SourceDocument, file: string): readonly PolicyProblem[] =>
  faults
    .slice(0, MAX_PROBLEMS + 1)
    .map(({ path, at, problem }) => ({ file, ...placeOf(path, at), path: formatPath(path), problem }))

const addressOf = ({ line, column, path }: PolicyProblem) => `${line}:${column} ${path}`

const shorten = (problems: readonly PolicyProblem[]) => {
  const next = problems[MAX_PROBLEMS]
  if (next === undefined) return problems
  return [...problems.slice(0, MAX_PROBLEMS), fileProblem(next.file, 'has more problems: mend those above first')]
}
