import { byId, element, rate, show, wholeNumber } from './elements.js'

/** @import { Snapshot, createRates } from './rates.js' */
/**
 * @typedef {{ kind: 'exact' | 'prefix', value: string }} Pattern
 * @typedef {{ attribute: string, anyOf: Pattern[] }} Condition
 * @typedef {{ capacityTokens: number, refillTokens: number, periodS: number }} Rule
 * @typedef {{ kind: 'counting', name: string, conditions: Condition[], unless?: Condition[], by: string[], rule: Rule, overrides: unknown[], mode: string, onStoreFailure: string }} CountingPolicy
 * @typedef {{ kind: 'exempt', name: string, conditions: Condition[], unless?: Condition[] }} ExemptPolicy
 * @typedef {{ domain: string, subject: string, policies: (CountingPolicy | ExemptPolicy)[] }} PolicySet
 * @typedef {{ subject: string, refusedAtLeast: number, refusedAtMost: number }} Offender
 * @typedef {{ lastMinutes: number, overall: Offender[], policies: { domain: string, policy: string, offenders: Offender[] }[] }} Top
 */

/** @param {Condition} condition */
const condition = ({ attribute, anyOf }) =>
  `${attribute}: ${anyOf.map(({ kind, value }) => (kind === 'prefix' ? `${value}*` : value)).join(', ')}`

/** @param {CountingPolicy | ExemptPolicy} policy */
const applies = ({ conditions, unless = [] }) => {
  const wanted = conditions.length === 0 ? 'every request' : conditions.map(condition).join('; ')
  return unless.length === 0 ? wanted : `${wanted}, unless ${unless.map(condition).join('; ')}`
}

/** @param {Rule} rule */
const limit = ({ capacityTokens, refillTokens, periodS }) =>
  capacityTokens === 0
    ? 'lets nobody in'
    : `${wholeNumber(capacityTokens)}, then ${wholeNumber(refillTokens)} ${periodS === 1 ? 'a second' : `in ${wholeNumber(periodS)} s`}`

/** @param {string} label @param {(Node | string)[]} children @param {string} [kind] */
const cell = (label, children, kind = '') => element('td', { 'data-label': label, class: kind }, children)

/** One row for each policy; the cells whose numbers move have `data-policy`. @param {PolicySet[]} sets */
export const showPolicies = (sets) => {
  const rows = sets.flatMap(({ domain, policies }) =>
    policies.map((policy) => {
      const name = element('strong', {}, [policy.name])
      const inDomain = sets.length > 1 ? [name, element('span', { class: 'tag' }, [domain])] : [name]
      if (policy.kind === 'exempt')
        return element('tr', {}, [
          cell('Policy', [element('span', {}, [...inDomain, element('span', { class: 'tag' }, ['exempt'])])]),
          cell('Applies to', [applies(policy)]),
          cell('Counts by', ['–']),
          cell('Limit', ['none']),
          cell('Let in', ['–'], 'number'),
          cell('Refused', ['–'], 'number'),
        ])
      const { overrides, mode } = policy
      const others =
        overrides.length === 0
          ? []
          : [
              element('span', { class: 'tag' }, [
                overrides.length === 1 ? '1 override' : `${overrides.length} overrides`,
              ]),
            ]
      const shadow = mode === 'shadow' ? [element('span', { class: 'tag' }, ['shadow'])] : []
      const row = element('tr', { 'data-domain': domain, 'data-policy': policy.name }, [
        cell('Policy', [element('span', {}, [...inDomain, ...shadow])]),
        cell('Applies to', [applies(policy)]),
        cell('Counts by', [policy.by.join(', ') || 'all together']),
        cell('Limit', [element('span', {}, [limit(policy.rule), ...others])]),
        cell('Let in', ['–'], 'number'),
        cell('Refused', ['–'], 'number'),
      ])
      return row
    }),
  )
  byId('policy-rows', HTMLElement).replaceChildren(...rows)
}

/** @param {ReturnType<typeof createRates>} rates */
export const showPolicyRates = (rates) => {
  for (const row of byId('policy-rows', HTMLElement).querySelectorAll('tr[data-policy]')) {
    const { allow, deny } = rates.now(row.getAttribute('data-domain') ?? '', row.getAttribute('data-policy') ?? '')
    const [letIn, refused] = row.querySelectorAll('.number')
    if (letIn !== undefined) show(letIn, `${rate(allow)} /s`)
    if (refused === undefined) continue
    show(refused, `${rate(deny)} /s`)
    refused.classList.toggle('bad', deny > 0)
  }
}

/** @param {Snapshot} snapshot @param {ReturnType<typeof createRates>} rates */
export const showNow = ({ inFlight, violations }, rates) => {
  const { allow, deny } = rates.now()
  show(byId('decisions', HTMLElement), rate(allow + deny))
  show(byId('refused', HTMLElement), rate(deny))
  show(byId('in-flight', HTMLElement), wholeNumber(inFlight))
  const slowestMs = rates.slowestMs()
  show(byId('slowest', HTMLElement), slowestText(slowestMs))
  show(byId('slowest-unit', HTMLElement), slowestMs === undefined ? '' : 'ms')
  const counts = byId('conservation', HTMLElement)
  show(counts, violations === 0 ? 'right' : `${wholeNumber(violations)} wrong`)
  counts.className = violations === 0 ? 'good' : 'bad'
}

/** @param {number | undefined} ms */
const slowestText = (ms) => (ms === undefined ? '–' : Number.isFinite(ms) ? `≤ ${ms}` : '> 1000')

/** @type {Readonly<Record<string, string>>} */
const storeNames = {
  groups: 'Subjects not full',
  evictedGroups: 'Subjects forgotten too early',
  evictedBuckets: 'Buckets forgotten too early',
  givenUpShards: 'Shards given up',
  limiters: 'Limiters that share it',
  rememberedBuckets: 'Buckets remembered for an outage',
  openAccounts: 'Buckets that it is still owed for',
  evictedAccounts: 'Forgotten before it was charged',
}

/** @param {Snapshot} snapshot */
export const showStore = ({ store }) => {
  const { kind, witnesses, ...stats } = store
  const seen = typeof witnesses === 'object' && witnesses !== null ? Object.entries(witnesses) : []
  const isBad = Number(stats['givenUpShards'] ?? 0) > 0
  const facts = [
    ['State', isBad ? 'does not answer in part: decided locally' : 'answers', isBad ? 'bad' : 'good'],
    ['Kind', kind, ''],
    ...Object.entries(storeNames).flatMap(([name, label]) =>
      typeof stats[name] === 'number' ? [[label, wholeNumber(stats[name]), '']] : [],
    ),
    ...seen.map(([name, value]) => [`Witnesses: ${witnessNames[name] ?? name}`, wholeNumber(Number(value)), '']),
  ]
  const list = byId('store', HTMLElement)
  if (list.childElementCount !== facts.length * 2)
    list.replaceChildren(...facts.flatMap(([label = '']) => [element('dt', {}, [label]), element('dd')]))
  const values = list.querySelectorAll('dd')
  for (const [index, [, value = '', kindOf = '']] of facts.entries()) {
    const at = values[index]
    if (at === undefined) continue
    show(at, value)
    at.className = kindOf
  }
}

/** @type {Readonly<Record<string, string>>} */
const witnessNames = {
  buckets: 'buckets',
  losses: 'lost writes found',
  vetoes: 'grants taken back',
  taught: 'buckets told again',
  localRefusals: 'refused without asking',
}

/** @param {Top} top @param {(domain: string, subject: string) => void} onPick */
export const showTop = ({ lastMinutes, policies }, onPick) => {
  show(
    byId('offenders-window', HTMLElement),
    policies.length === 0
      ? 'Nobody was refused in the last minutes.'
      : `In the last ${lastMinutes} minutes, by this limiter. Choose one to look at its buckets.`,
  )
  const all = policies
    .flatMap(({ domain, policy, offenders }) => offenders.map((offender) => ({ domain, policy, ...offender })))
    .toSorted((a, b) => b.refusedAtMost - a.refusedAtMost)
    .slice(0, 10)
  const most = all[0]?.refusedAtMost ?? 1
  const list = byId('offenders', HTMLElement)
  const focused = document.activeElement?.getAttribute('data-key')
  list.replaceChildren(
    ...all.map(({ domain, policy, subject, refusedAtMost }) => {
      const value = `${refusedAtMost / most}`
      const button = element('button', { type: 'button', 'data-key': `${policy} ${subject}` }, [
        element('span', {}, [subject, element('span', { class: 'tag' }, [policy])]),
        element('span', { class: 'number' }, [wholeNumber(refusedAtMost)]),
        element('meter', { value, 'aria-hidden': 'true' }),
      ])
      button.addEventListener('click', () => onPick(domain, subject))
      return element('li', {}, [button])
    }),
  )
  if (focused === null || focused === undefined) return
  for (const button of list.querySelectorAll('button')) if (button.dataset['key'] === focused) button.focus()
}
