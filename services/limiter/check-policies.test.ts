import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { domainName } from '../contract/check.ts'
import { match } from './core/match.ts'
import { parsePolicies } from './policies/parse.ts'

const root = join(import.meta.dirname, '../..')
const fixture = (name: string) => `services/limiter/policies/fixtures/${name}`

const run = async (...options: readonly string[]) => {
  const child = spawn(process.execPath, ['services/limiter/check-policies.ts', ...options], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { exitCode: await exited, stdout, stderr }
}

test('policies without a mistake are summarized', async () => {
  const { exitCode, stdout, stderr } = await run('deploy/policies.yaml')
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  expect(stdout).toBe(`deploy/policies.yaml: 1 domain, 4 policies, no problem

domain  policy     matches                     counts by  capacity  refill  without store  mode     overrides
api     anonymous  plan=anonymous              client     20        2/s     share          enforce  0
api     free       plan=free                   client     60        5/s     share          enforce  0
api     pro        plan=pro                    client     600       50/s    share          enforce  0
api     document   route=GET /v1/openapi.json  exempt
`)
})

test('every problem is printed with its address, one a line', async () => {
  const { exitCode, stdout, stderr } = await run(fixture('override-outside-by.yaml'))
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' })
  const file = fixture('override-outside-by.yaml')
  expect(
    stdout,
  ).toBe(`${file}:6:21 overrides[0].clinet: is not what the policy counts by (client, route): did you mean client?
${file}:7:21 overrides[1].tenant: is not what the policy counts by (client, route): remove it, or count by it too
${file}:7:35 overrides[1].capactiy: is not what the policy counts by (client, route): did you mean capacity?

3 problems: a limiter would refuse these policies.
`)
})

test('a file that is not there is a problem', async () => {
  const { exitCode, stdout } = await run('none.yaml')
  expect(exitCode).toBe(1)
  expect(stdout).toContain('none.yaml:1:1: does not exist: name a policy file, or a folder of them\n\n1 problem:')
})

test.for([{ options: [] }, { options: ['a.yaml', 'b.yaml'] }, { options: ['--help'] }])(
  'used as $options it says how to use it',
  async ({ options }) => {
    const { exitCode, stdout, stderr } = await run(...options)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain('npm run check-policies -- FILE')
  },
)

test('each plan of the demo policies has the one bucket that is promised, and the description of the API has none', async () => {
  const name = 'deploy/policies.yaml'
  const parsed = parsePolicies([{ name, text: await readFile(join(root, name), 'utf8') }])
  const set = parsed.ok ? parsed.sets.get(domainName('api')) : undefined
  if (set === undefined) throw new Error('no policies for the API')
  const bucketsOf = (attributes: Readonly<Record<string, string>>) => {
    const found = match(set, new Map(Object.entries({ client: 'user:acme', method: 'GET', ...attributes })))
    return found.kind === 'counted' ? found.matched.map(({ policy, asked }) => [policy.name, asked.rule]) : found.kind
  }
  const promised = {
    anonymous: { capacityTokens: 20, refillTokens: 2, periodS: 1 },
    free: { capacityTokens: 60, refillTokens: 5, periodS: 1 },
    pro: { capacityTokens: 600, refillTokens: 50, periodS: 1 },
  }
  for (const [plan, rule] of Object.entries(promised)) {
    for (const route of ['GET /v1/orders/{id}', 'unmatched']) expect(bucketsOf({ plan, route })).toEqual([[plan, rule]])
    expect(bucketsOf({ plan, route: 'GET /v1/openapi.json' })).toBe('exempt')
  }
})
