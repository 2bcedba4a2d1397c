import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parsePolicies } from './parse.ts'
import { formatProblem } from './problem.ts'

/** What each file of `fixtures/` is told, in full. */
const mistakes: Readonly<Record<string, readonly string[]>> = {
  'alias-bomb.yaml': [
    '5:8 overrides[0]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '6:8 overrides[1]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '7:8 overrides[2]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '8:8 overrides[3]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '9:8 overrides[4]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '10:8 overrides[5]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
    '10:37 overrides[5][7]: aliases stand for more than 1000000 values: write them out',
  ],
  'bad-indent.yaml': [
    '1:9: Nested mappings are not allowed in compact mappings: check the indentation, quotes and brackets here',
    '1:9: Implicit keys need to be on a single line: check the indentation, quotes and brackets here',
  ],
  'bad-name.yaml': [
    '1:9 domain: must be a name without spaces, as in api',
    '2:10 subject: is an empty name: write the name of an attribute, as in client',
    '4:13 policies[0].name: must be 1 to 64 of a-z, 0-9 and -, a letter first: it is written into metrics and headers',
    '5:13 policies[1].name: must be 1 to 64 of a-z, 0-9 and -, a letter first: it is written into metrics and headers',
    '6:13 policies[2].name: must be 1 to 64 of a-z, 0-9 and -, a letter first: it is written into metrics and headers',
  ],
  'bad-numbers.yaml': [
    '4:29 policies[0].capacity: must be a whole number of tokens from 1 to 4500000',
    '4:40 policies[0].refill: must be more than 0 tokens in a time of more than 0, as in 5/s',
    '5:29 policies[1].capacity: must be a whole number of tokens from 1 to 4500000',
    '5:46 policies[1].refill: must be at most 1000000/s',
    '6:29 policies[2].capacity: must be a whole number of tokens from 1 to 4500000',
    '6:42 policies[2].refill: must be tokens in a time (s, min, h, d), as in 5/s, 100/min, 0.2/s or "5 per 10s"',
    '7:41 policies[3].refill: must fill an empty bucket within 30 days; raise it or lower the capacity',
    '8:33 policies[4].capacity: must be a number: write how many tokens a full bucket holds, as in 60, without quotes',
    '8:47 policies[4].refill: has too many digits to be counted exactly; round it',
  ],
  'block-with-numbers.yaml': [
    '4:5 policies[0].match: is missing, which refuses every request: say which are meant, or write match: {} for all',
    '8:5 policies[1].capacity: means nothing in a blocking policy, which counts nothing: remove it, or remove block',
  ],
  'custom-tag.yaml': ['1:9: Unresolved tag: !env: remove the tag'],
  'duplicate-attribute.yaml': ['4:39 policies[0].by[2]: is the same as policies[0].by[0]: remove one'],
  'duplicate-domain.yaml': [
    '9:9 domain: is "api", as at duplicate-domain.yaml:1: write all policies of a domain in one document',
  ],
  'duplicate-key.yaml': ['7:5 policies[0].capacity: is there twice: remove one'],
  'duplicate-name.yaml': ['7:11 policies[1].name: is "free", as is policies[0]: give each policy a name of its own'],
  'duplicate-override.yaml': ['8:5 overrides[2]: is for the same bucket as overrides[0]: remove one'],
  'empty-fields.yaml': [
    '2:9 subject: is empty: write the name of an attribute, as in client',
    '5:20 policies[0].match.plan: is empty: write a value, as in free',
    '6:8 policies[0].by: is empty: list attributes, as in [client]',
    '7:14 policies[0].capacity: is empty: write how many tokens a full bucket holds, as in 60, without quotes',
    '9:12 policies[0].exempt: must be true or false, without quotes',
  ],
  'empty-list-of-values.yaml': ['5:20 policies[0].match.plan: is an empty list, which nothing matches: write a value'],
  'empty.yaml': ['1:1: is empty: write a domain, its subject and its policies'],
  'exempt-with-numbers.yaml': [
    '7:5 policies[0].by: means nothing in an exempt policy, which counts nothing: remove it, or remove exempt',
    '8:5 policies[0].capacity: means nothing in an exempt policy, which counts nothing: remove it, or remove exempt',
    '9:5 policies[0].refill: means nothing in an exempt policy, which counts nothing: remove it, or remove exempt',
    '10:5 policies[0].mode: means nothing in an exempt policy, which counts nothing: remove it, or remove exempt',
    '11:5 policies[0].onStoreFailure: means nothing in an exempt policy, which counts nothing: remove it, or remove exempt',
  ],
  'exempt-without-match.yaml': [
    '4:5 policies[0].match: is missing, which exempts every request: say which are meant, or write match: {} for all',
  ],
  'mapping-as-key.yaml': ['4:3: the name of a field is not a text: write one'],
  'merge-key.yaml': [
    '5:5 policies[1].capacity: is missing: write how many tokens a full bucket holds, as in 60, without quotes',
    '5:5 policies[1].refill: is missing: write how fast a bucket refills, as in 5/s',
    '5:7 policies[1]["<<"]: is not a field of a policy: remove it; there are name, match, unless, replaces, by, capacity, refill, onStoreFailure, mode, exempt, block',
  ],
  'missing-fields.yaml': [
    '1:1 domain: is missing: name the API, as in api',
    '3:5 policies[0].name: is missing: name the policy, as in per-client',
    '3:5 policies[0].refill: is missing: write how fast a bucket refills, as in 5/s',
    '5:5 policies[1].capacity: is missing: write how many tokens a full bucket holds, as in 60, without quotes',
  ],
  'mistake-behind-alias.yaml': [
    '4:40 policies[0].match.plan: is a number, not a text: put it in quotes',
    '4:40 policies[1].match.plan: is a number, not a text: put it in quotes',
  ],
  'nested-too-deep.yaml': [
    '5:12 policies[0].match: must be a mapping: map attributes to values, as in { plan: free }',
    '5:41 policies[0].match[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: is nested over 32 levels deep: nest less deeply',
  ],
  'not-a-mapping.yaml': ['1:1: must be a mapping: write a domain, its subject and its policies'],
  'only-comments.yaml': ['1:1: is empty: write a domain, its subject and its policies'],
  'override-of-exempt-policy.yaml': [
    '6:15 overrides[0].policy: is an exempt policy, which has no numbers: remove the override',
  ],
  'override-of-unknown-policy.yaml': [
    '6:15 overrides[0].policy: is not a policy of this domain: did you mean free?',
    '7:15 overrides[1].policy: is not a policy of this domain: it has free',
    '8:5 overrides[2].policy: is missing: name the policy whose numbers change',
  ],
  'override-outside-by.yaml': [
    '6:21 overrides[0].clinet: is not what the policy counts by (client, route): did you mean client?',
    '7:21 overrides[1].tenant: is not what the policy counts by (client, route): remove it, or count by it too',
    '7:35 overrides[1].capactiy: is not what the policy counts by (client, route): did you mean capacity?',
  ],
  'override-with-bad-numbers.yaml': [
    "6:42 overrides[0].capacity: does not go with the policy's refill, which must fill an empty bucket within 30 days; raise it or lower the capacity",
    '7:40 overrides[1].refill: must fill an empty bucket within 30 days; raise it or lower the capacity',
    '8:42 overrides[2].capacity: must be a whole number of tokens from 1 to 4500000',
    '8:53 overrides[2].refill: must be tokens in a time (s, min, h, d), as in 5/s, 100/min, 0.2/s or "5 per 10s"',
    '9:5 overrides[3]: must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both',
  ],
  'override-with-pattern.yaml': ['6:29 overrides[0].client: has a *: an override is for one value, written out'],
  'override-without-bucket.yaml': [
    '7:5 overrides[0]: names no bucket: give a value of client, route',
    '8:5 overrides[1]: is of a policy with one bucket only: change the numbers of the policy itself',
  ],
  'override-without-numbers.yaml': ['6:5 overrides[0]: changes nothing: give it a capacity, a refill or both'],
  'policies-not-a-list.yaml': ['4:3 policies: must be a list: list the policies of the domain, [] for none'],
  'replaces-nothing.yaml': [
    '4:55 policies[0].replaces[0]: is not a policy of this domain: did you mean free?',
    '5:55 policies[1].replaces[0]: is the policy itself: name the one that gives way to it',
  ],
  'reserved-key.yaml': ['4:28 policies[0].match.__proto__: cannot be the name of a field: use another'],
  'star-in-the-middle.yaml': [
    '5:22 policies[0].match.route[0]: has a * before its end: only a * at the end stands for any rest',
    '5:69 policies[0].match.client: has a * before its end: only a * at the end stands for any rest',
  ],
  'tab-indent.yaml': ['4:1: Tabs are not allowed as indentation: indent by spaces'],
  'unclosed-list.json': [
    '1:55: Flow sequence in block collection must be sufficiently indented and end with a ]: check the indentation, quotes and brackets here',
    '1:56: Flow map must end with a }: check the indentation, quotes and brackets here',
  ],
  'unclosed-quote.yaml': ['4:1: Missing closing "quote: check the indentation, quotes and brackets here'],
  'unknown-alias.yaml': [
    '4:26 policies[0].match: is an alias of nothing before it: put a text that begins with * in quotes',
    '5:31 policies[1].match: is an alias of nothing before it: put a text that begins with * in quotes',
  ],
  'unknown-field.json': [
    '5:5 policies[0].refill: is missing: write how fast a bucket refills, as in 5/s',
    '5:39 policies[0].refil: is not a field of a policy: did you mean refill?',
  ],
  'unknown-field.yaml': [
    '3:1 polices: is not a field of a domain: did you mean policies?',
    '8:5 policies[0].refil: is not a field of a policy: did you mean refill?',
    '9:5 policies[0].on_store_failure: is not a field of a policy: did you mean onStoreFailure?',
    '10:5 policies[0].weight: is not a field of a policy: remove it; there are name, match, unless, replaces, by, capacity, refill, onStoreFailure, mode, exempt, block',
  ],
  'unquoted-star.yaml': ['4:34: is no name of an anchor: put a text that begins with * or & in quotes'],
  'unquoted-value.yaml': [
    '5:23 policies[0].match.version: is a number, not a text: put it in quotes',
    '5:34 policies[0].match.beta: is a boolean, not a text: put it in quotes',
    '5:52 policies[0].match.tenant[1]: is a number, not a text: put it in quotes',
    '9:29 overrides[0].client: is a number, not a text: put it in quotes',
  ],
  'wrong-types.yaml': [
    '1:9 domain: is a number, not a text: put it in quotes',
    '2:10 subject: must be a text: write the name of an attribute, as in client',
    '5:12 policies[0].match: must be a mapping: map attributes to values, as in { plan: free }',
    '6:9 policies[0].by: must be a list: list attributes, as in [client]',
    '7:15 policies[0].capacity: must be a number: write how many tokens a full bucket holds, as in 60, without quotes',
    '8:13 policies[0].refill: must be tokens in a time: write how fast a bucket refills, as in 5/s',
    '9:21 policies[0].onStoreFailure: must be share, allow or deny',
    '10:11 policies[0].mode: must be enforce or shadow',
    '13:13 policies[1].exempt: must be true or false, without quotes',
    '14:5 policies[2]: must be a mapping: write a policy with a name, a capacity and a refill',
    '15:12 overrides: must be a list: list the overrides, or remove the field',
  ],
}

const folder = join(import.meta.dirname, 'fixtures')

const problemsOf = (name: string) => {
  const parsed = parsePolicies([{ name, text: readFileSync(join(folder, name), 'utf8') }])
  return parsed.ok ? [] : parsed.problems.map(formatProblem)
}

test.for(Object.keys(mistakes))('%s is told every mistake in it, with its address and a remedy', (name) => {
  expect(problemsOf(name)).toEqual(mistakes[name]?.map((problem) => `${name}:${problem}`))
})

test('every fixture is a mistake that is told', () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(mistakes).sort())
  expect(Object.values(mistakes).filter((problems) => problems.length === 0)).toEqual([])
})
