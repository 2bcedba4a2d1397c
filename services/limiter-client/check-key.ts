import type { Check } from '../contract/check.ts'

/** The whole question but its cost, as one text. The lengths keep the parts apart, so that no two questions have one key. */
export const questionKey = ({ domain, attributes }: Check) => {
  let key = `q${domain.length}:${domain}`
  for (const [name, value] of attributes) key += `${name.length}:${name}${value.length}:${value}`
  return key
}
