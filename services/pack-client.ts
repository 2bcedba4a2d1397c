// npm run pack:client [-- FOLDER]: the limiter's client as a package of JavaScript and types, for other teams; prints the path.
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const NAME = 'weir-client'

/** What the package offers, and the source of it. */
const entries = {
  '.': 'limiter-client/open-limiter-client',
  './fastify': 'limiter-client/fastify/fastify-plugin',
  './check': 'contract/check',
} as const

/** Brought by whoever uses the plugin. */
const peers: readonly string[] = ['fastify']

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

const compile = async (folder: string) => {
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = {
    // What Node 22 runs.
    target: 'es2024',
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(root, 'services'),
    outDir: join(folder, 'dist'),
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const files = Object.values(entries).map((entry) => join(root, 'services', `${entry}.ts`))
  await writeFile(config, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }))
  await run(join(root, 'node_modules/.bin/tsc'), ['--project', config], { cwd: root })
  await rm(config)
}

/** Libraries that the compiled files import. */
const librariesOf = async (folder: string) => {
  const libraries = new Set<string>()
  for (const file of globSync('**/*.js', { cwd: folder })) {
    const text = await readFile(join(folder, file), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g))
      if (!specifier.startsWith('.') && !isBuiltin(specifier))
        libraries.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
  }
  return [...libraries].toSorted()
}

const describe = async (folder: string) => {
  const { version, license, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const libraries = (await librariesOf(join(folder, 'dist'))).filter((library) => !peers.includes(library))
  return {
    name: NAME,
    version,
    description: 'Asks a Weir rate limiter before an API does any work: a client, and a plugin for Fastify',
    license,
    type: 'module',
    engines: { node: '>=22' },
    exports: Object.fromEntries(
      Object.entries(entries).map(([path, entry]) => [
        path,
        { types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` },
      ]),
    ),
    files: ['dist', 'proto'],
    sideEffects: false,
    dependencies: Object.fromEntries(libraries.map((library) => [library, dependencies[library]])),
    peerDependencies: { fastify: '5.x' },
    peerDependenciesMeta: { fastify: { optional: true } },
  }
}

/** Writes the package's tarball into the folder. */
export const packClient = async (outDir: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-client-'))
  try {
    await compile(folder)
    await cp(join(root, 'proto/weir'), join(folder, 'proto/weir'), { recursive: true })
    await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    await cp(join(root, 'services/limiter-client/README.md'), join(folder, 'README.md'))
    await writeFile(join(folder, 'package.json'), JSON.stringify(await describe(folder), null, 2))
    await mkdir(outDir, { recursive: true })
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', resolve(outDir)], { cwd: folder })
    const [packed] = JSON.parse(stdout)
    return join(resolve(outDir), packed.filename)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) process.stdout.write(`${await packClient(process.argv[2] ?? '.')}\n`)
