import { timingSafeEqual } from 'node:crypto'
import { hashApiKey, keyIdOf } from './api-key.ts'
import type { KeyCaller, Permission, Plan } from './caller.ts'

/** What is kept of a key: enough to recognise it, not enough to use it. */
export type KeyRecord = {
  readonly keyId: string
  readonly hash: Uint8Array
  readonly owner: string | undefined
  readonly plan: Plan
  readonly permissions: ReadonlySet<Permission>
}

/** Every key in force, by its id. */
export type ApiKeys = ReadonlyMap<string, KeyRecord>

/** Whose key this is. An unknown id takes as long as a wrong secret. */
export const findCaller = (keys: ApiKeys, token: string): KeyCaller | undefined => {
  const keyId = keyIdOf(token)
  if (keyId === undefined) return undefined
  const record = keys.get(keyId)
  const isRight = timingSafeEqual(hashApiKey(token), record?.hash ?? NOBODYS_HASH)
  if (record === undefined || !isRight) return undefined
  const { owner, plan, permissions } = record
  return { kind: 'key', keyId, owner, plan, permissions }
}

const NOBODYS_HASH = new Uint8Array(32)
