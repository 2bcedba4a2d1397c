/** A policy file as it was read. */
export type PolicyFile = { readonly name: string; readonly text: string }

/** A mistake, where it is (lines and columns count from 1; the path leads from the top of its document) and how to mend it. */
export type PolicyProblem = {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly path: string
  readonly problem: string
}

/** One line, as editors and terminals link it: `policies.yaml:7:13 policies[2].refill: must be …` */
export const formatProblem = ({ file, line, column, path, problem }: PolicyProblem) =>
  `${file}:${line}:${column}${path === '' ? '' : ` ${path}`}: ${problem}`

/** A mistake of the file as a whole. */
export const fileProblem = (file: string, problem: string): PolicyProblem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  problem,
})
