import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/**
 * The rooms of the house, leaves first, and everything that each may import: rooms above it in this table, libraries, and
 * Node's own modules unless it is pure. The files that lie directly in `services`, `limiter` and `api` are the roots: they wire the
 * rooms together, may import all of them, and nobody imports them.
 */
const rooms: Readonly<Record<string, Room>> = {
  contract: { pure: true, imports: [], libraries: [] },
  seams: { pure: true, imports: [], libraries: [] },
  tracing: { pure: true, imports: ['contract'], libraries: [] },
  bucket: { pure: true, imports: [], libraries: [] },
  breaker: { pure: true, imports: ['seams'], libraries: [] },
  conservation: { pure: true, imports: ['contract', 'bucket'], libraries: [] },
  // grpc-js: the generated types speak of it.
  wire: { imports: ['contract'], libraries: ['@grpc/proto-loader', '@grpc/grpc-js'] },
  platform: {
    imports: ['contract', 'seams', 'tracing'],
    libraries: [
      'pino',
      'prom-client',
      '@opentelemetry/api',
      '@opentelemetry/sdk-node',
      '@opentelemetry/resources',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-grpc',
    ],
  },
  'limiter/core': { pure: true, imports: ['contract', 'bucket'], libraries: [] },
  'limiter/policies': { imports: ['contract', 'seams', 'bucket', 'limiter/core'], libraries: ['diff', 'yaml', 'zod'] },
  'limiter/witness': { pure: true, imports: ['bucket', 'limiter/core'], libraries: [] },
  'limiter/share': { pure: true, imports: ['seams', 'bucket', 'limiter/core'], libraries: [] },
  'limiter/redis': {
    imports: ['seams', 'tracing', 'bucket', 'breaker', 'limiter/core', 'limiter/witness', 'limiter/share'],
    libraries: ['ioredis'],
  },
  'limiter/listen': { imports: [], libraries: [] },
  'limiter/guard': { imports: [], libraries: [] },
  'limiter/stream': { imports: ['contract', 'wire', 'limiter/guard'], libraries: ['@grpc/grpc-js'] },
  'limiter/envoy': { imports: ['contract', 'bucket', 'wire', 'limiter/core'], libraries: [] },
  'limiter/unary': { imports: ['limiter/guard'], libraries: ['@grpc/grpc-js'] },
  'limiter/rpc': {
    imports: [
      'contract',
      'tracing',
      'wire',
      'limiter/core',
      'limiter/listen',
      'limiter/guard',
      'limiter/envoy',
      'limiter/stream',
      'limiter/unary',
    ],
    libraries: ['@grpc/grpc-js', '@grpc/proto-loader', '@grpc/reflection', 'grpc-health-check'],
  },
  'limiter/telemetry': { imports: ['contract', 'seams', 'platform', 'limiter/core'], libraries: [] },
  'limiter/console': { imports: ['contract', 'platform', 'limiter/core'], libraries: [] },
  'limiter-client/channel': { imports: ['contract', 'seams', 'wire'], libraries: [] },
  'limiter-client/replicas': { imports: ['contract', 'seams', 'wire', 'limiter-client/channel'], libraries: [] },
  'limiter-client': {
    imports: ['contract', 'seams', 'bucket', 'breaker', 'limiter-client/channel', 'limiter-client/replicas'],
    libraries: ['lru-cache'],
  },
  'limiter-client/fastify': { imports: ['contract', 'limiter-client'], libraries: ['fastify', 'fastify-plugin'] },
  'simulation/model': {
    imports: [
      'contract',
      'seams',
      'bucket',
      'wire',
      'limiter/core',
      'limiter/witness',
      'limiter/share',
      'limiter/redis',
      'limiter-client/channel',
      'limiter-client/replicas',
      'limiter-client',
    ],
    libraries: [],
  },
  simulation: {
    imports: [
      'contract',
      'bucket',
      'conservation',
      'limiter/core',
      'limiter/redis',
      'limiter-client',
      'simulation/model',
    ],
    libraries: [],
  },
  'api/identify': { imports: ['contract', 'seams'], libraries: ['ipaddr.js'] },
  'api/database': { imports: [], libraries: ['pg', '@electric-sql/pglite'] },
  'api/http': { imports: ['api/identify', 'api/database'], libraries: ['fastify', 'ajv', 'typebox'] },
  'api/compatibility': { imports: [], libraries: [] },
  'api/document': {
    imports: ['api/identify', 'api/http'],
    libraries: ['fastify', 'typebox', '@fastify/swagger', 'swagger-ui-dist'],
  },
  'api/orders': { imports: ['api/identify', 'api/database', 'api/http'], libraries: ['fastify', 'typebox', 'uuid'] },
  // The end-to-end suite on a real Kubernetes, a program of its own (npm run e2e).
  kubernetes: { imports: ['conservation'], libraries: ['yaml'] },
}
type Room = { readonly pure?: boolean; readonly imports: readonly string[]; readonly libraries: readonly string[] }

const MAX_CLIMB = 2

/** Sources by their path below `services`. */
type Sources = ReadonlyMap<string, string>

const violations = (sources: Sources): readonly string[] =>
  [...sources].flatMap(([file, text]) =>
    importsOf(text).flatMap((specifier) =>
      [climbFault(file, specifier), isTest(file) ? undefined : arrowFault(file, specifier)].flatMap((fault) =>
        fault === undefined ? [] : [`${file} imports ${specifier}: ${fault}`],
      ),
    ),
  )

const importsOf = (text: string) =>
  [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(([, specifier = '']) => specifier)

const isTest = (file: string) => /\.(test|conformance|oracle|arbitrary|fixture|config)\.ts$/.test(file)

/** The innermost, as a room may have rooms in it. */
const roomOf = (file: string) => {
  const folder = dirname(file)
  return Object.keys(rooms)
    .filter((room) => folder === room || folder.startsWith(`${room}/`))
    .toSorted((a, b) => b.length - a.length)[0]
}

/** What a tool has written lies as deep as the names in `proto/`. */
const isGenerated = (file: string) => file.startsWith('wire/gen/')

const climbFault = (file: string, specifier: string) =>
  !isGenerated(file) &&
  specifier.split('/').filter((part) => part === '..').length > MAX_CLIMB &&
  !specifier.endsWith('.json')
    ? `climbs more than ${MAX_CLIMB} folders`
    : undefined

const arrowFault = (file: string, specifier: string) => {
  const room = roomOf(file)
  if (!specifier.startsWith('.')) return room === undefined ? undefined : libraryFault(room, specifier)
  const target = normalize(join(dirname(file), specifier))
  if (isTest(target)) return 'only tests import what is for tests'
  const targetRoom = roomOf(target)
  if (targetRoom === undefined) return dirname(file) === dirname(target) ? undefined : 'nobody imports a root'
  if (room === undefined || room === targetRoom) return undefined
  return rooms[room]?.imports.includes(targetRoom) ? undefined : `no arrow from ${room} to ${targetRoom}`
}

const libraryFault = (room: string, specifier: string) => {
  if (isBuiltin(specifier)) return rooms[room]?.pure ? `${room} is pure` : undefined
  const library = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  return rooms[room]?.libraries.includes(library) ? undefined : `${room} does not use ${library}`
}

/** Files that import each other in a circle, as one of the circle's files. */
const circles = (sources: Sources) => {
  const cleared = new Set<string>()
  const visit = (file: string, path: readonly string[]): readonly string[] => {
    if (path.includes(file)) return [[...path.slice(path.indexOf(file)), file].join(' → ')]
    if (cleared.has(file)) return []
    const found = importsOf(sources.get(file) ?? '')
      .filter((specifier) => specifier.startsWith('.'))
      .flatMap((specifier) => visit(normalize(join(dirname(file), specifier)), [...path, file]))
    cleared.add(file)
    return found
  }
  return [...sources.keys()].flatMap((file) => visit(file, []))
}

const here = import.meta.dirname
const sources: Sources = new Map(
  globSync('**/*.ts', { cwd: here, exclude: ['architecture.test.ts'] }).map((file) => [
    file,
    readFileSync(join(here, file), 'utf8'),
  ]),
)

test('every import is an arrow that the table allows', () => {
  expect(sources.size).toBeGreaterThan(40)
  expect(violations(sources)).toEqual([])
})

test('no files import each other in a circle', () => {
  expect(circles(sources)).toEqual([])
})

test('the table itself is in order: a room imports only rooms above it', () => {
  const names = Object.keys(rooms)
  for (const [index, [name, { imports }]] of Object.entries(rooms).entries())
    for (const imported of imports) expect(names.indexOf(imported), `${name} → ${imported}`).toBeLessThan(index)
})

test('every folder with sources is a room of the table', () => {
  const folders = new Set([...sources.keys()].filter((file) => !isTest(file)).map((file) => dirname(file)))
  expect(
    [...folders].filter(
      (folder) => !['.', 'limiter', 'api'].includes(folder) && roomOf(`${folder}/x.ts`) === undefined,
    ),
  ).toEqual([])
})

test.each([
  ['limiter/core/planted.ts', `import { x } from '../rpc/server.ts'`, 'no arrow from limiter/core to limiter/rpc'],
  ['limiter/core/planted.ts', `import { readFile } from 'node:fs'`, 'limiter/core is pure'],
  ['limiter/core/planted.ts', `import { parse } from 'yaml'`, 'limiter/core does not use yaml'],
  [
    'limiter/rpc/planted.ts',
    `import { x } from '../policies/parse.ts'`,
    'no arrow from limiter/rpc to limiter/policies',
  ],
  ['limiter/rpc/planted.ts', `import '../main.ts'`, 'nobody imports a root'],
  ['limiter/rpc/planted.ts', `export { x } from '../../api/app.ts'`, 'nobody imports a root'],
  ['contract/planted.ts', `import { x } from '../seams/clock.ts'`, 'no arrow from contract to seams'],
  [
    'limiter-client/planted.ts',
    `const x = await import('../limiter/core/match.ts')`,
    'no arrow from limiter-client to limiter/core',
  ],
  ['limiter/core/planted.ts', `import { x } from './match.test.ts'`, 'only tests import what is for tests'],
  ['limiter/core/planted.test.ts', `import { x } from '../../../proto/x.ts'`, 'climbs more than 2 folders'],
])('a planted wrong arrow is found: %s with %s', (file, text, fault) => {
  expect(violations(new Map([[file, text]]))).toEqual([expect.stringContaining(fault)])
})

test('a planted circle is found', () => {
  const planted = new Map([
    ['contract/a.ts', `import { b } from './b.ts'`],
    ['contract/b.ts', `import { a } from './a.ts'`],
  ])
  expect(circles(planted)).toEqual(['contract/a.ts → contract/b.ts → contract/a.ts'])
})

test("the README's drawing has exactly the table's arrows", () => {
  const readme = readFileSync(join(here, '../README.md'), 'utf8')
  const drawn = [...readme.matchAll(/^\s*(\S+) --> (\S+)$/gm)].map(([, from, to]) => `${from} --> ${to}`)
  const allowed = Object.entries(rooms).flatMap(([room, { imports }]) =>
    imports.map((imported) => `${room} --> ${imported}`),
  )
  expect(drawn.toSorted()).toEqual(allowed.toSorted())
})
