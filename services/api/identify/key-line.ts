import { isKeyId } from './api-key.ts'
import type { KeyRecord } from './api-keys.ts'
import { type Permission, type Plan, permissions, plans } from './caller.ts'

export type ParsedKeyLine =
  | { readonly ok: true; readonly record: KeyRecord }
  | { readonly ok: false; readonly problems: readonly string[] }

/** One line of the file that `API_KEYS` names. */
export const formatKeyLine = ({ keyId, hash, owner, plan, permissions }: KeyRecord): string =>
  JSON.stringify({
    id: keyId,
    hash: `sha256:${Buffer.from(hash).toString('hex')}`,
    owner,
    plan,
    permissions: [...permissions],
  })

export const parseKeyLine = (line: string): ParsedKeyLine => {
  const value = parseObject(line)
  if (value === undefined) return { ok: false, problems: ['is not a JSON object'] }
  const { id, hash, owner, plan, permissions: granted, ...unknown } = value
  const problems = Object.keys(unknown).map((name) => `has an unknown member ${JSON.stringify(name)}`)
  if (!isId(id)) problems.push('id must be 12 hexadecimal digits')
  if (!isHash(hash)) problems.push('hash must be "sha256:" and 64 hexadecimal digits')
  if (owner !== undefined && !isOwner(owner)) problems.push(`owner must be ${OWNER_FORM}`)
  if (!isPlan(plan)) problems.push(`plan must be one of ${plans.join(', ')}`)
  if (!arePermissions(granted)) problems.push(`permissions must be a list of ${permissions.join(', ')}`)
  if (problems.length > 0 || !isId(id) || !isHash(hash) || !isPlan(plan) || !arePermissions(granted))
    return { ok: false, problems }
  const digest = Buffer.from(hash.slice('sha256:'.length), 'hex')
  const ownerOrNone = isOwner(owner) ? owner : undefined
  return { ok: true, record: { keyId: id, hash: digest, owner: ownerOrNone, plan, permissions: new Set(granted) } }
}

const parseObject = (line: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

export const OWNER_FORM = '1 to 128 visible ASCII characters, no spaces'
export const isOwner = (value: unknown): value is string => typeof value === 'string' && /^[!-~]{1,128}$/.test(value)
export const isPlan = (value: unknown): value is Plan => plans.some((plan) => plan === value)
export const isPermission = (value: unknown): value is Permission =>
  permissions.some((permission) => permission === value)

const isId = (value: unknown): value is string => typeof value === 'string' && isKeyId(value)
const isHash = (value: unknown): value is string => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
const arePermissions = (value: unknown): value is readonly Permission[] =>
  Array.isArray(value) && value.every(isPermission)
