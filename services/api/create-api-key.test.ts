import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { findCaller } from './identify/api-keys.ts'
import { parseKeyFile } from './identify/key-file.ts'

const program = fileURLToPath(new URL('create-api-key.ts', import.meta.url))

const run = (...args: readonly string[]) =>
  new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [program, ...args], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })

test('the printed line makes the printed key known', async () => {
  const { code, stdout } = await run('--plan', 'free', '--owner', 'acme', '--permissions', 'orders:read,orders:write')
  expect(code).toBe(0)
  const [first = '', , line = ''] = stdout.split('\n')
  const key = first.split(' ').at(-1) ?? ''
  const parsed = parseKeyFile(line)
  expect(parsed.ok && findCaller(parsed.keys, key)).toMatchObject({
    owner: 'acme',
    plan: 'free',
    permissions: new Set(['orders:read', 'orders:write']),
  })
  expect(line).not.toContain(key.slice(-48))
})

test('a key needs no owner', async () => {
  const { code, stdout } = await run('--plan=pro', '--permissions=orders:read')
  expect(code).toBe(0)
  expect(stdout).toContain('"plan":"pro","permissions":["orders:read"]')
})

test('every fault of the arguments is named, and no key is made', async () => {
  const { code, stdout, stderr } = await run(
    '--plan',
    'gold',
    '--owner',
    'a b',
    '--permissions',
    'all',
    '--scope',
    'x',
    '--plan',
    'free',
    'extra',
  )
  expect(code).toBe(1)
  expect(stdout).toBe('')
  for (const fault of [
    '--owner must be',
    '--permissions must be',
    'no option --scope',
    '--plan is given twice',
    '"extra" belongs',
  ])
    expect(stderr).toContain(fault)
})

test('without arguments it says what it needs', async () => {
  const { code, stderr } = await run()
  expect(code).toBe(1)
  expect(stderr).toContain('--plan must be one of free, pro')
  expect(stderr).toContain('--permissions must be')
  expect(stderr).toContain('Usage: ')
})
