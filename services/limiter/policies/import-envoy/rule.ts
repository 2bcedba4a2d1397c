import { closest } from '../closest.ts'
import { type Fault, keyFault, type Path, quote, valueFault } from '../fault.ts'
import { isMapping } from '../fields.ts'

/** Units of envoyproxy/ratelimit, as a policy file writes a refill. */
const REFILL_UNITS = {
  second: '/s',
  minute: '/min',
  hour: '/h',
  day: '/d',
  week: ' per 7d',
  month: ' per 30d',
} as const

export type Unit = keyof typeof REFILL_UNITS

export const writeRefill = (requests: number, unit: Unit) => `${requests}${REFILL_UNITS[unit]}`

export type Limit = {
  readonly numbers: 'unlimited' | { readonly requests: number; readonly unit: Unit }
  readonly name: string
  readonly replaces: readonly string[]
}

/** A descriptor of the configuration. */
export type Rule = {
  readonly path: Path
  readonly key: string
  readonly value: string
  readonly limit: Limit | undefined
  readonly shadow: boolean
  readonly shareThreshold: boolean
  readonly rules: readonly Rule[]
}

export type ReadRules = {
  readonly rules: readonly Rule[]
  readonly faults: readonly Fault[]
  /** What has no counterpart and changes no decision. */
  readonly notes: readonly Fault[]
}

const RULE_FIELDS = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
]
const LIMIT_FIELDS = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces']

/** Reads a list of descriptors, and those below them. */
export const readRules = (value: unknown, path: Path): ReadRules => {
  const faults: Fault[] = []
  const notes: Fault[] = []

  const readList = (list: unknown, at: Path): readonly Rule[] => {
    if (list === undefined || list === null) return []
    if (!Array.isArray(list)) {
      faults.push(valueFault(at, 'must be a list of descriptors'))
      return []
    }
    const rules = list.map((item: unknown, index) => readRule(item, [...at, index]))
    const seen = new Set<string>()
    return rules.flatMap((rule) => {
      if (rule === undefined) return []
      // As there: it is by this text that a descriptor is found.
      const composite = rule.value === '' ? rule.key : `${rule.key}_${rule.value}`
      if (seen.has(composite)) faults.push(valueFault(rule.path, `is the second descriptor ${quote(composite)} here`))
      seen.add(composite)
      return [rule]
    })
  }

  const readRule = (item: unknown, at: Path): Rule | undefined => {
    if (!isMapping(item)) return void faults.push(valueFault(at, 'must be a mapping with a key'))
    unknownFields(item, RULE_FIELDS, at)
    const key = text(item['key'], [...at, 'key'])
    if (key === '') faults.push(valueFault([...at, 'key'], 'is empty: every descriptor has a key'))
    const rule = {
      path: at,
      key,
      value: text(item['value'], [...at, 'value']),
      limit: readLimit(item['rate_limit'], [...at, 'rate_limit']),
      shadow: flag(item, 'shadow_mode', at),
      shareThreshold: flag(item, 'share_threshold', at),
      rules: readList(item['descriptors'], [...at, 'descriptors']),
    }
    if (flag(item, 'quota_mode', at))
      faults.push(keyFault([...at, 'quota_mode'], 'has no counterpart: write shadow_mode, which decides the same'))
    for (const name of ['detailed_metric', 'value_to_metric'])
      if (flag(item, name, at))
        notes.push(
          keyFault([...at, name], 'is left out: metrics never have a label from a request; /top names clients'),
        )
    for (const fault of patternFaults(rule)) faults.push(fault)
    return rule
  }

  const readLimit = (item: unknown, at: Path): Limit | undefined => {
    if (item === undefined || item === null) return undefined
    if (!isMapping(item)) return void faults.push(valueFault(at, 'must be a mapping with a unit and requests_per_unit'))
    unknownFields(item, LIMIT_FIELDS, at)
    const name = text(item['name'], [...at, 'name'])
    const replaces = readReplaces(item['replaces'], name, [...at, 'replaces'])
    const numbers = readNumbers(item, at)
    return numbers === undefined ? undefined : { numbers, name, replaces }
  }

  const readNumbers = (item: Readonly<Record<string, unknown>>, at: Path): Limit['numbers'] | undefined => {
    const unit = text(item['unit'], [...at, 'unit']).toLowerCase()
    if (flag(item, 'unlimited', at)) {
      if (unit !== '') faults.push(valueFault([...at, 'unit'], 'goes not with unlimited: remove one of them'))
      return 'unlimited'
    }
    if (unit === 'year') return void faults.push(valueFault([...at, 'unit'], A_YEAR))
    if (!isUnit(unit)) {
      const units = Object.keys(REFILL_UNITS).join(', ')
      return void faults.push(valueFault([...at, 'unit'], `must be one of ${units}, not ${quote(unit)}`))
    }
    const requests = item['requests_per_unit'] ?? 0
    if (typeof requests === 'number' && Number.isInteger(requests) && requests >= 0) return { requests, unit }
    return void faults.push(valueFault([...at, 'requests_per_unit'], 'must be a whole number'))
  }

  const readReplaces = (item: unknown, own: string, at: Path): readonly string[] => {
    if (item === undefined || item === null) return []
    if (!Array.isArray(item)) {
      faults.push(valueFault(at, 'must be a list of names, as in - name: this'))
      return []
    }
    return item.map((one: unknown, index) => {
      const name = isMapping(one) ? text(one['name'], [...at, index, 'name']) : ''
      if (name === '') faults.push(valueFault([...at, index], 'names no limit: write a name'))
      else if (name === own) faults.push(valueFault([...at, index], 'is the limit itself: name another'))
      return name
    })
  }

  const unknownFields = (item: object, known: readonly string[], at: Path) => {
    for (const name of Object.keys(item)) {
      if (known.includes(name)) continue
      const meant = closest(name, known)
      const remedy = meant === undefined ? 'remove it' : `did you mean ${meant}?`
      faults.push(keyFault([...at, name], `is no field of envoyproxy/ratelimit here: ${remedy}`))
    }
  }

  const flag = (item: Readonly<Record<string, unknown>>, name: string, at: Path) => {
    const given = item[name] ?? false
    if (typeof given === 'boolean') return given
    faults.push(valueFault([...at, name], 'must be true or false'))
    return false
  }

  /** YAML makes a number of a text that looks like one; envoyproxy/ratelimit makes a text of it again. */
  const text = (given: unknown, at: Path) => {
    if (given === undefined || given === null) return ''
    if (typeof given === 'string') return given
    if (typeof given === 'boolean' || Number.isInteger(given)) return String(given)
    faults.push(valueFault(at, 'must be a text: put it in quotes'))
    return ''
  }

  const rules = readList(value, path)
  return { rules, faults, notes }
}

const A_YEAR =
  'is longer than a bucket may take to fill, which is 30 days: write what a month may have (the year’s divided by 12) and unit: month'

const isUnit = (unit: string): unit is Unit => Object.hasOwn(REFILL_UNITS, unit)

/** The attribute that says which keys a descriptor has, and what policy files call their own fields. */
const RESERVED_KEYS = ['descriptor']

const patternFaults = ({ path, key, value, shareThreshold }: Rule): readonly Fault[] => [
  ...(RESERVED_KEYS.includes(key)
    ? [valueFault([...path, 'key'], 'is the name of the attribute that has the keys: rename it here and in Envoy')]
    : []),
  ...(value === '' && key.endsWith('*')
    ? [valueFault([...path, 'key'], 'ends with *, as only a value may: write each key, or a value that ends with *')]
    : []),
  ...(value.slice(0, -1).includes('*')
    ? [valueFault([...path, 'value'], 'has a * before its end, which a policy cannot match')]
    : []),
  ...(shareThreshold && !value.endsWith('*')
    ? [keyFault([...path, 'share_threshold'], 'is for a value that ends with *')]
    : []),
]
