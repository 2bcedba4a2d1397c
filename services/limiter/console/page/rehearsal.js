import { byId, element, wholeNumber } from './elements.js'

/**
 * @typedef {{ subject: string, atLeast: number, atMost: number }} Subject
 * @typedef {{ requests: number, top: Subject[] }} Affected
 * @typedef {{ domain: string, policy: string, wouldBeRefused: Affected, wouldBeLetIn: Affected }} PolicyDifference
 * @typedef {{ since: string, compared: number, wouldBeRefused: number, wouldBeLetIn: number, unknown: number, skipped: number, policies: PolicyDifference[] }} Comparison
 * @typedef {{ file: string, line: number, column: number, path: string, problem: string }} Problem
 * @typedef {{ added: string[], changed: string[], removed: string[] }} Changes
 * @typedef {{ state: 'off', remedy: string } | { state: 'waiting' | 'running', candidate: { problems: Problem[] }, subjectsPercent: number, comparison?: Comparison, changes: Changes, text?: string }} Rehearsal
 */

let shown = ''

/** @param {Rehearsal} rehearsal */
export const showRehearsal = (rehearsal) => {
  const text = JSON.stringify(rehearsal)
  if (text === shown) return
  shown = text
  const at = byId('rehearsal', HTMLElement)
  const place = at.querySelector('.diff')?.scrollTop ?? 0
  at.replaceChildren(...describe(rehearsal))
  const diff = at.querySelector('.diff')
  if (diff !== null) diff.scrollTop = place
}

/** @param {Rehearsal} rehearsal @returns {HTMLElement[]} */
const describe = (rehearsal) => {
  if (rehearsal.state === 'off') return [element('p', { class: 'hint' }, [`No candidate: ${rehearsal.remedy}.`])]
  const { candidate, comparison, subjectsPercent, changes, text } = rehearsal
  const problems = candidate.problems.map(({ file, line, column, path, problem }) =>
    element('p', { class: 'problem' }, [`${file}:${line}:${column} ${path} ${problem}`]),
  )
  if (comparison === undefined)
    return [element('p', {}, ['The candidate has mistakes; nothing is rehearsed.']), ...problems]
  return [
    ...problems,
    element('p', {}, [summary(comparison)]),
    element('p', { class: 'hint' }, [hint(comparison, subjectsPercent)]),
    ...(comparison.policies.length === 0 ? [] : [table(comparison.policies)]),
    element('p', { class: 'hint' }, [describeChanges(changes)]),
    ...(text === undefined || text === '' ? [] : [difference(text)]),
  ]
}

/** @param {Comparison} comparison */
const summary = ({ compared, wouldBeRefused, wouldBeLetIn }) =>
  `Of ${wholeNumber(compared)} requests the candidate would refuse ${wholeNumber(wouldBeRefused)} that pass today, and let in ${wholeNumber(wouldBeLetIn)} that are refused today.`

/** @param {Comparison} comparison @param {number} percent */
const hint = ({ since, unknown, skipped }, percent) =>
  [
    `Since ${new Date(since).toLocaleString('en-GB')}, by this limiter.`,
    percent < 100 ? ` Of ${percent} % of the subjects.` : '',
    unknown + skipped > 0 ? ` Not compared: ${wholeNumber(unknown + skipped)}.` : '',
  ].join('')

/** @param {Changes} changes */
const describeChanges = (changes) => {
  const parts = Object.entries(changes).flatMap(([kind, names]) =>
    names.length === 0 ? [] : [`${kind} ${names.join(', ')}`],
  )
  return parts.length === 0 ? 'The candidate is what is in force.' : `Policies: ${parts.join('; ')}.`
}

/** @param {PolicyDifference[]} policies */
const table = (policies) => {
  const head = ['Policy', 'Would be refused', 'Would be let in'].map((title) =>
    element('th', { scope: 'col' }, [title]),
  )
  const rows = policies.map(({ domain, policy, wouldBeRefused, wouldBeLetIn }) =>
    element('tr', {}, [
      element('td', { 'data-label': 'Policy' }, [
        element('span', {}, [element('strong', {}, [policy]), element('span', { class: 'tag' }, [domain])]),
      ]),
      affected('Refused', wouldBeRefused),
      affected('Let in', wouldBeLetIn),
    ]),
  )
  return element('table', { class: 'stack' }, [
    element('thead', {}, [element('tr', {}, head)]),
    element('tbody', {}, rows),
  ])
}

/** @param {string} label @param {Affected} affected */
const affected = (label, { requests, top }) => {
  if (requests === 0) return element('td', { 'data-label': label }, ['–'])
  const subjects = top
    .slice(0, 5)
    .map(({ subject, atLeast, atMost }) => `${subject} ${atLeast === atMost ? '' : '≤ '}${wholeNumber(atMost)}`)
  return element('td', { 'data-label': label }, [
    element('span', {}, [
      element('strong', {}, [wholeNumber(requests)]),
      ' ',
      element('small', {}, [`${subjects.join(', ')}${top.length > 5 ? ', …' : ''}`]),
    ]),
  ])
}

/** @param {string} text */
const difference = (text) => {
  // The first lines name the sides.
  const lines = text
    .trimEnd()
    .split('\n')
    .filter((line) => !/^(={3,}|--- |\+\+\+ )/.test(line))
  const kinds = /** @type {Readonly<Record<string, string>>} */ ({ '+': 'added', '-': 'removed', '@': 'place' })
  return element(
    'pre',
    { class: 'diff', tabindex: '0', 'aria-label': 'From the live policies to the candidate' },
    lines.map((line) => element('span', { class: kinds[line[0] ?? ''] ?? '' }, [line === '' ? ' ' : line])),
  )
}
