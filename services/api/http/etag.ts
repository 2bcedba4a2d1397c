import { Type } from 'typebox'

/** The strong entity tag of a version of a resource. */
export const entityTag = (version: number) => `"${version}"`

// RFC 9110, 8.8.3: `*`, or tags by comma.
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7E\x80-\xFF]*"`
const entityTags = (description: string) =>
  Type.Optional(Type.String({ pattern: String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`, description }))

export const ifMatch = entityTags('`ETag`s of which the order must have one, else nothing is changed; or `*`.')
export const ifNoneMatch = entityTags('`ETag`s that the client has: if the order has one of them, the answer is 304.')

/** Whether a change is wanted: without the header always, else only if it names the current tag itself. */
export const permitsChange = (header: string | undefined, tag: string) =>
  header === undefined || header === '*' || tagsOf(header).includes(tag)

/** Whether the client has what it asks for; a weak tag is good enough for that. */
export const isKnown = (header: string | undefined, tag: string) =>
  header !== undefined && (header === '*' || tagsOf(header).some((known) => known === tag || known === `W/${tag}`))

const tagsOf = (header: string): readonly string[] => [...header.matchAll(tags)].map(([tag]) => tag)
const tags = new RegExp(TAG, 'g')
