import { byId, duration, element, show, wholeNumber } from './elements.js'

/**
 * @typedef {{ limit: number, remaining: number, resetAfterMs: number, refillTokens: number, refillPeriodMs: number }} Quota
 * @typedef {{ policy: string, quota: Quota, shadow: boolean }} PolicyQuota
 * @typedef {{ ok: true, value: unknown } | { ok: false, problem: string }} Answered
 * @import { PolicySet } from './overview.js'
 */

const form = byId('bucket', HTMLFormElement)
const answer = byId('bucket-answer', HTMLElement)
const dialog = byId('token-dialog', HTMLDialogElement)
const tokenForm = byId('token-form', HTMLFormElement)
const tokenProblem = byId('token-problem', HTMLElement)

/** @type {PolicySet[]} */
let known = []

/** @param {HTMLFormElement} of @param {string} name */
const field = (of, name) => {
  const found = of.elements.namedItem(name)
  if (found instanceof HTMLInputElement || found instanceof HTMLSelectElement || found instanceof HTMLTextAreaElement)
    return found
  throw new Error(`the form has no field ${name}`)
}

const asked = () => ({
  domain: field(form, 'domain').value,
  attributes: Object.fromEntries(
    field(form, 'attributes')
      .value.split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [name = '', ...rest] = line.split('=')
        return [name.trim(), rest.join('=').trim()]
      }),
  ),
})

/** @param {string} path @param {unknown} body @param {Record<string, string>} [headers] @returns {Promise<Answered>} */
const post = async (path, body, headers = {}) => {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (response.ok) return { ok: true, value: await response.json() }
    return { ok: false, problem: (await response.text()).trim() }
  } catch {
    return { ok: false, problem: 'The limiter does not answer.' }
  }
}

const look = async () => {
  const answered = await post('console/peek', asked())
  if (!answered.ok) return answer.replaceChildren(element('p', { class: 'problem' }, [answered.problem]))
  const { quotas } = /** @type {{ quotas: PolicyQuota[] }} */ (answered.value)
  if (quotas.length === 0) return answer.replaceChildren(element('p', {}, ['No policy limits such a request.']))
  answer.replaceChildren(...quotas.map(describe))
}

/** @param {PolicyQuota} quota */
const describe = ({ policy, quota, shadow }) => {
  const { limit, remaining, resetAfterMs, refillTokens, refillPeriodMs } = quota
  const full = resetAfterMs === 0 ? 'full' : `full in ${duration(resetAfterMs)}`
  return element('div', { class: 'quota' }, [
    element('p', {}, [
      element('strong', {}, [`${policy}${shadow ? ' (shadow)' : ''}`]),
      `${wholeNumber(remaining)} of ${wholeNumber(limit)} left`,
    ]),
    element('meter', { value: `${limit === 0 ? 0 : remaining / limit}`, 'aria-label': `${policy}: part that is left` }),
    element('small', {}, [`${full}; ${wholeNumber(refillTokens)} come in ${duration(refillPeriodMs)}`]),
  ])
}

/** @param {PolicySet[]} sets */
export const showDomains = (sets) => {
  known = sets
  const select = field(form, 'domain')
  const before = select.value
  select.replaceChildren(...sets.map(({ domain }) => element('option', {}, [domain])))
  if (sets.some(({ domain }) => domain === before)) select.value = before
}

/** Looks at the buckets of a subject, with what a request of its would have to say to be counted. @param {string} domain @param {string} subject */
export const lookAt = (domain, subject) => {
  const set = known.find((one) => one.domain === domain)
  field(form, 'domain').value = domain
  const lines = [`${set?.subject ?? 'client'}=${subject}`]
  const attributes = field(form, 'attributes')
  const others = attributes.value
    .split('\n')
    .filter((line) => line.includes('=') && !line.startsWith(`${set?.subject}=`))
  attributes.value = [...lines, ...others].join('\n')
  attributes.focus()
  void look()
}

const openDialog = () => {
  if (!form.reportValidity()) return
  const { domain, attributes } = asked()
  const policies = known.find((one) => one.domain === domain)?.policies ?? []
  show(
    byId('token-what', HTMLElement),
    Object.entries(attributes)
      .map(([name, value]) => `${name}=${value}`)
      .join(', '),
  )
  field(tokenForm, 'policy').replaceChildren(
    element('option', { value: '' }, ['all that apply']),
    ...policies.flatMap(({ kind, name }) => (kind === 'counting' ? [element('option', {}, [name])] : [])),
  )
  show(tokenProblem, '')
  dialog.showModal()
  field(tokenForm, 'token').focus()
}

const fill = async () => {
  const token = field(tokenForm, 'token')
  const authorization = `Bearer ${token.value}`
  token.value = ''
  const answered = await post(
    'console/reset',
    { ...asked(), policy: field(tokenForm, 'policy').value },
    { authorization },
  )
  if (!answered.ok) {
    show(tokenProblem, answered.problem)
    return token.focus()
  }
  dialog.close()
  await look()
  const { policies } = /** @type {{ policies: string[] }} */ (answered.value)
  const done = policies.length === 0 ? 'No policy applies: nothing to fill.' : `Full now: ${policies.join(', ')}.`
  answer.prepend(element('p', { class: 'good' }, [done]))
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void look()
})
byId('reset', HTMLElement).addEventListener('click', openDialog)
byId('token-cancel', HTMLElement).addEventListener('click', () => dialog.close())
tokenForm.addEventListener('submit', (event) => {
  event.preventDefault()
  void fill()
})
// However it is closed, the token stays nowhere.
dialog.addEventListener('close', () => {
  field(tokenForm, 'token').value = ''
})
