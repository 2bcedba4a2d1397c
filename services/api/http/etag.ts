import { Type } from 'typebox'

/** The strong entity tag of a version of a resource. */
export const entityTag = (version: number) => `"${version}"`

export const ifMatch = Type.Optional(
  Type.String({ description: '`ETag`s by comma, of which the order must have one, else nothing is changed; or `*`.' }),
)
export const ifNoneMatch = Type.Optional(
  Type.String({
    description: '`ETag`s by comma that the client has: if the order has one of them, the answer is 304.',
  }),
)

/** Whether a change is wanted: without the header always, else only if it names the current tag itself. */
export const permitsChange = (header: string | undefined, tag: string) =>
  header === undefined || header.trim() === '*' || tagsOf(header).includes(tag)

/** Whether the client has what it asks for; a weak tag is good enough for that. */
export const isKnown = (header: string | undefined, tag: string) =>
  header !== undefined &&
  (header.trim() === '*' || tagsOf(header).some((known) => known === tag || known === `W/${tag}`))

/** RFC 9110, 8.8.3. What is no tag is not one that anything has. */
const tagsOf = (header: string): readonly string[] => [...header.matchAll(TAGS)].map(([tag]) => tag)
const TAGS = /(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*"/g
