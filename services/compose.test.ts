import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readApiSettings } from './api/settings.ts'
import { readLimiterSettings } from './limiter/settings.ts'

type Service = {
  readonly command?: string | readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[]
}
type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

const deploy = fileURLToPath(new URL('../deploy', import.meta.url))
const compose = parse(readFileSync(join(deploy, 'compose.yaml'), 'utf8'), { merge: true }) as Compose
const services = Object.entries(compose.services)

test.each([
  ['limiter', readLimiterSettings],
  ['api', readApiSettings],
] as const)(
  'Docker Compose gives both of the service %s settings that it takes, and none that it does not know',
  (program, read) => {
    const running = services.filter(([, { command }]) => command?.includes(`services/${program}/main.ts`))
    expect(running).toHaveLength(2)
    for (const [, { environment = {} }] of running) {
      const taken = read(environment)
      expect(taken).toMatchObject({ ok: true })
      expect(Object.keys(taken.ok ? taken.settings : {})).toEqual(expect.arrayContaining(Object.keys(environment)))
    }
  },
)

test.each(services)('what %s of Docker Compose mounts is there, and what it reads from it', (_, service) => {
  const { volumes = [], environment = {}, command = [] } = service
  const mounted = volumes
    .map((volume) => /^(?<from>\.[^:]*):(?<to>[^:]+):ro$/.exec(volume)?.groups ?? {})
    .flatMap(({ from, to }) => (from === undefined || to === undefined ? [] : [{ from: join(deploy, from), to }]))
  const words = [...Object.values(environment), ...[command].flat()].flatMap((text) => text.split(/[=\s]/))
  for (const { from, to } of mounted) {
    const paths = words.filter((word) => word.startsWith(`${to}/`)).map((word) => join(from, word.slice(to.length)))
    expect([from, ...paths].filter((path) => !existsSync(path))).toEqual([])
  }
})

test.each(services)('whom %s of Docker Compose waits for is one of its services', (_, { depends_on: awaited = [] }) => {
  const names = Array.isArray(awaited) ? awaited : Object.keys(awaited)
  expect(names.filter((name) => compose.services[name] === undefined)).toEqual([])
})

test('the secrets of Docker Compose are there', () => {
  const files = Object.values(compose.secrets).map(({ file }) => join(deploy, file))
  expect(files.filter((file) => !existsSync(file))).toEqual([])
})
