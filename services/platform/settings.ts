/**
 * Settings are declared once, as a table from a variable's name to the reader of its text; the type of the settings is
 * derived from the table. Reading collects every fault instead of stopping at the first.
 */
export type Reader<T> = {
  /** Used when the variable is absent or empty. Without one the variable is required. */
  readonly fallback?: T
  readonly read: (text: string) => Parsed<T>
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly expected: string }

export type Settings<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Reader<infer T> ? T : never
}

export type ReadSettings<Table> =
  | { readonly ok: true; readonly settings: Settings<Table> }
  | { readonly ok: false; readonly faults: readonly string[] }

type Environment = Readonly<Record<string, string | undefined>>

export const readSettings = <Table extends Readonly<Record<string, Reader<unknown>>>>(
  environment: Environment,
  table: Table,
): ReadSettings<Table> => {
  const settings: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, reader] of Object.entries(table)) {
    const text = environment[name]
    if (text === undefined || text === '') {
      if ('fallback' in reader) settings[name] = reader.fallback
      else faults.push(`${name} is not set: set it to ${expectation(reader)}`)
      continue
    }
    const parsed = reader.read(text)
    if (parsed.ok) settings[name] = parsed.value
    else faults.push(`${name} is ${JSON.stringify(withoutPassword(text))}: it must be ${parsed.expected}`)
  }
  return faults.length === 0 ? { ok: true, settings: settings as Settings<Table> } : { ok: false, faults }
}

/** A password in a URL is the likeliest of mistakes, and must not end in a log. */
const withoutPassword = (text: string) => text.replace(/(\/\/[^/@\s:]*):\S*@/g, '$1:[redacted]@')

const expectation = (reader: Reader<unknown>) => {
  const parsed = reader.read('')
  return parsed.ok ? 'a value' : parsed.expected
}

const accept = <T>(value: T): Parsed<T> => ({ ok: true, value })
const reject = (expected: string) => ({ ok: false, expected }) as const

/** The same reader, with a value for an absent variable. */
export const withDefault = <T, const D>(reader: Reader<T>, fallback: D): Reader<T | D> => ({ ...reader, fallback })

export const optional = <T>(reader: Reader<T>): Reader<T | undefined> => withDefault(reader, undefined)

/** A setting of the published interface that this version would ignore, and so refuses. */
export const notYet: Reader<undefined> = withDefault(
  { read: () => reject('unset: this version does not support it') },
  undefined,
)

export const wholeNumber = (min: number, max: number): Reader<number> => ({
  read: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? accept(value) : reject(`a whole number from ${min} to ${max}`)
  },
})

export const oneOf = <const Choice extends string>(...choices: readonly Choice[]): Reader<Choice> => ({
  read: (text) => {
    const choice = choices.find((candidate) => candidate === text)
    return choice === undefined ? reject(`one of ${choices.join(', ')}`) : accept(choice)
  },
})

/** A file or folder; whether it is there is found out by whoever opens it. */
export const path: Reader<string> = { read: (text) => (text === '' ? reject('a path') : accept(text)) }

export const commaSeparated = <T>(item: Reader<T>): Reader<readonly T[]> => ({
  read: (text) => {
    const values: T[] = []
    for (const part of text.split(',')) {
      const parsed = item.read(part.trim())
      if (!parsed.ok) return reject(`${parsed.expected}, or several by comma`)
      values.push(parsed.value)
    }
    return accept(values)
  },
})
