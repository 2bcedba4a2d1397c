import type { DomainName } from '../../contract/check.ts'
import type { PolicyName } from '../../contract/decision.ts'
import type { BucketKey, GroupKey } from './store.ts'

// Parts are joined by ':' and escaped, so that no two lists of parts give the same key, and no part can end a Redis hash tag.
const RESERVED = /[%:{}\p{Cc} ]/gu

const escaped = (part: string) =>
  part.replace(RESERVED, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`)

const join = (parts: readonly string[]) => parts.map(escaped).join(':')

/** The group of a subject's own buckets. */
export const subjectGroup = (domain: DomainName, subject: string) => `s:${join([domain, subject])}` as GroupKey

/** The group of one bucket that counts across subjects. */
export const crossSubjectGroup = (domain: DomainName, policy: PolicyName, values: readonly string[]) =>
  `p:${join([domain, policy, ...values])}` as GroupKey

export const bucketKey = (policy: PolicyName, values: readonly string[]) => join([policy, ...values]) as BucketKey
