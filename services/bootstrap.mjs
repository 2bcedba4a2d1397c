// Runs one of the project's programs: node services/bootstrap.mjs PROGRAM [ARGUMENT …]
// Installs the packages of package-lock.json when they are missing or other ones, and sees to it that the program runs on
// Node 24, which comes as a package too. Plain JavaScript without a dependency, for any Node from 20 on.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const REQUIRED_MAJOR = 24

const root = fileURLToPath(new URL('..', import.meta.url))
const stamp = join(root, 'node_modules', '.installed')
const packagedNode = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

const fail = (message) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const installPackages = () => {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  process.stderr.write('Installing packages (once, about half a minute) …\n')
  // Not `npm ci`, which fails where a registry mirror lacks the optional packages of some other platform.
  // Node itself is a development dependency, so those too, whatever NODE_ENV says.
  const options = ['install', '--no-save', '--include=dev', '--loglevel=error', '--no-progress']
  // The npm that runs this script, else the one on the PATH.
  const npm = process.env.npm_execpath
  const done = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...options], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', options, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (done.error) fail(`npm could not be started (${done.error.message}). Install npm, then try again.`)
  if (done.status !== 0) fail('The packages could not be installed: npm says why above. Mend that, then try again.')
  writeFileSync(stamp, wanted)
}

const majorOf = (version) => Number(/^v?(\d+)\./.exec(version)?.[1])

const packagedNodeVersion = () => {
  const asked = spawnSync(packagedNode, ['--version'], { encoding: 'utf8' })
  return asked.status === 0 ? asked.stdout.trim() : `no runnable file ${packagedNode}`
}

const requireNode = (version, where) => {
  if (majorOf(version) === REQUIRED_MAJOR) return
  fail(
    `Weir runs on Node ${REQUIRED_MAJOR}, but ${where} is ${version}. Remove node_modules and try again; ` +
      `if that does not help, npm was told not to run the install script of the package "node".`,
  )
}

/** Waits for the program and ends as it ended; signals go to the program. */
const runOnPackagedNode = (program, programArguments) => {
  const child = spawn(packagedNode, [program, ...programArguments], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => fail(`${packagedNode} could not be started: ${error.message}`))
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

const [, , programPath, ...programArguments] = process.argv
if (majorOf(process.version) < 20) fail(`This script needs Node 20 or newer; this is ${process.version}.`)
if (programPath === undefined) fail('usage: node services/bootstrap.mjs PROGRAM [ARGUMENT …]')
installPackages()

const program = resolve(root, programPath)
if (majorOf(process.version) === REQUIRED_MAJOR) {
  process.argv.splice(1, 2, program)
  await import(pathToFileURL(program).href)
} else {
  requireNode(packagedNodeVersion(), 'the installed one')
  runOnPackagedNode(program, programArguments)
}
