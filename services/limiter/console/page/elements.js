/** The element with this id, of this kind; that it is there is a matter of the page's own files.
 * @template {Element} T @param {string} id @param {new () => T} kind @returns {T} */
export const byId = (id, kind) => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} ${id}`)
  return found
}

/** An element with attributes and children; texts are texts, never markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Readonly<Record<string, string>>} attributes @param {readonly (Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]} */
export const element = (tag, attributes = {}, children = []) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/** Writes only what differs, so that a selection, the focus and a screen reader's place stay.
 * @param {Element} at @param {string} text */
export const show = (at, text) => {
  if (at.textContent !== text) at.textContent = text
}

/** @param {number} value */
export const wholeNumber = (value) => Math.round(value).toLocaleString('en')

/** A rate as people read it. @param {number} value */
export const rate = (value) =>
  value === 0
    ? '0'
    : value < 10
      ? value.toFixed(1)
      : value < 10_000
        ? wholeNumber(value)
        : `${(value / 1000).toFixed(1)} k`

/** @param {number} ms */
export const duration = (ms) => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const s = ms / 1_000
  if (s < 120) return `${Number(s.toFixed(s < 10 ? 1 : 0))} s`
  return s < 7_200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3_600)} h`
}
