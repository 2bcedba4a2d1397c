import type { z } from 'zod'
import { closest } from './closest.ts'
import { type Fault, keyFault, type Path, valueFault } from './fault.ts'

type Fields<Strict, Legible> = {
  readonly names: readonly string[]
  readonly strict: z.ZodType<Strict>
  readonly legible: z.ZodType<Legible>
}

export type ReadFields<Strict, Legible> =
  | { readonly ok: true; readonly fields: Strict; readonly faults: readonly [] }
  /** The fields without a fault, for what else can be said of them. */
  | { readonly ok: false; readonly fields: Partial<Legible>; readonly faults: readonly Fault[] }

type Options = {
  readonly path: Path
  /** What to tell of a field that the mapping may not have. */
  readonly explainUnknown: (name: string) => string
}

export const readFields = <Strict, Legible>(
  { strict, legible }: Fields<Strict, Legible>,
  value: unknown,
  { path, explainUnknown }: Options,
): ReadFields<Strict, Legible> => {
  const parsed = strict.safeParse(value, { reportInput: true })
  if (parsed.success) return { ok: true, fields: parsed.data, faults: [] }
  const { issues } = parsed.error
  const illegible = new Set(issues.flatMap((issue) => (isUnknownFields(issue) ? issue.keys : issue.path.slice(0, 1))))
  const rest = Object.entries(isMapping(value) ? value : {}).filter(([name]) => !illegible.has(name))
  return {
    ok: false,
    fields: legible.safeParse(Object.fromEntries(rest)).data ?? {},
    faults: issues.flatMap((issue) => faultsOf(issue, path, explainUnknown)),
  }
}

export const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Issue = z.core.$ZodIssue
type Explain = Options['explainUnknown']

const isUnknownFields = (issue: Issue) => issue.code === 'unrecognized_keys'

const faultsOf = (issue: Issue, parent: Path, explainUnknown: Explain): readonly Fault[] => {
  const path = [...parent, ...issue.path]
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => keyFault([...path, key], explainUnknown(key)))
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => keyFault(path, message))
  if (issue.code === 'invalid_union') {
    // Every union here is a list or one value.
    const [list = [], one = []] = issue.errors
    return (Array.isArray(issue.input) ? list : one).flatMap((inner) => faultsOf(inner, path, explainUnknown))
  }
  return [valueFault(path, issue.message)]
}

/** For a field that the mapping does not know: what was meant, or else all that it has. */
export const unknownField = (name: string, of: string, known: readonly string[]) => {
  const meant = closest(name, known)
  const remedy = meant === undefined ? `remove it; there are ${known.join(', ')}` : `did you mean ${meant}?`
  return `is not a field of ${of}: ${remedy}`
}
