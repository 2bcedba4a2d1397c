// npm run create-api-key: prints a new key, once, and the line that makes an API know it.
import { parseArgs } from 'node:util'
import { createApiKey, hashApiKey } from './identify/api-key.ts'
import { permissions as allPermissions, type Permission, type Plan, plans } from './identify/caller.ts'
import { formatKeyLine, isOwner, isPermission, isPlan, OWNER_FORM } from './identify/key-line.ts'

const USAGE = `Usage: npm run create-api-key -- --plan ${plans.join('|')} [--owner ID] --permissions ${allPermissions.join(',')}`

type KeyRequest = {
  readonly plan: Plan
  readonly owner: string | undefined
  readonly permissions: readonly Permission[]
}

type ParsedArguments =
  | { readonly ok: true; readonly request: KeyRequest }
  | { readonly ok: false; readonly faults: readonly string[] }

const parseArguments = (args: readonly string[]): ParsedArguments => {
  const { tokens } = parseArgs({
    args: [...args],
    options: { plan: { type: 'string' }, owner: { type: 'string' }, permissions: { type: 'string' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const given = new Map<string, string | undefined>()
  const faults: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') faults.push(`${JSON.stringify(token.value)} belongs to no option`)
    if (token.kind !== 'option') continue
    if (!['plan', 'owner', 'permissions'].includes(token.name)) faults.push(`there is no option ${token.rawName}`)
    else if (given.has(token.name)) faults.push(`${token.rawName} is given twice`)
    given.set(token.name, token.value)
  }
  const plan = given.get('plan')
  const owner = given.get('owner')
  const permissions = (given.get('permissions') ?? '').split(',')
  if (!isPlan(plan)) faults.push(`--plan must be one of ${plans.join(', ')}`)
  if (given.has('owner') && !isOwner(owner)) faults.push(`--owner must be ${OWNER_FORM}`)
  if (!permissions.every(isPermission))
    faults.push(`--permissions must be one or more of ${allPermissions.join(', ')}, by comma`)
  if (faults.length > 0 || !isPlan(plan)) return { ok: false, faults }
  return { ok: true, request: { plan, owner, permissions: permissions.filter(isPermission) } }
}

const parsed = parseArguments(process.argv.slice(2))
if (parsed.ok) {
  const { keyId, key } = createApiKey()
  const { plan, owner, permissions } = parsed.request
  const line = formatKeyLine({ keyId, hash: hashApiKey(key), plan, owner, permissions: new Set(permissions) })
  process.stdout.write(`API key (shown only now): ${key}\nLine for the API_KEYS file:\n${line}\n`)
} else {
  process.stderr.write(`No key was made:\n${parsed.faults.map((fault) => `  - ${fault}\n`).join('')}${USAGE}\n`)
  process.exitCode = 1
}
