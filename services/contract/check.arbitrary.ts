import fc from 'fast-check'
import { type Check, checkLimits, domainName } from './check.ts'

const anyText = (maxBytes: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => Buffer.byteLength(text) <= maxBytes && !text.includes('\uFFFD'))

/** Every check that `parseCheck` lets pass, but for the longest texts. */
export const anyCheck: fc.Arbitrary<Check> = fc.record(
  {
    domain: anyText(checkLimits.domainBytes).map(domainName),
    attributes: fc
      .uniqueArray(
        fc.tuple(anyText(checkLimits.attributeBytes), fc.oneof(fc.constant(''), anyText(checkLimits.attributeBytes))),
        {
          maxLength: checkLimits.attributes,
          selector: ([name]) => name,
        },
      )
      .map((entries) => new Map(entries)),
    cost: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: checkLimits.cost })),
    requestId: anyText(checkLimits.requestIdBytes),
  },
  { requiredKeys: ['domain', 'attributes', 'cost'] },
)
