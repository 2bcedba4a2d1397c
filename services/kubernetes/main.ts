// npm run e2e: the chart on a real Kubernetes, step by step; the last line is `N passed, N failed`. Arguments name the steps to run
// after the installation (callers encrypted scaling upgrades faults sidecar), all of them if there are none.
import { checkCallers } from './callers.ts'
import { checkChart } from './chart-checks.ts'
import type { Cluster } from './cluster.ts'
import { checkEncrypted } from './encrypted.ts'
import { checkFaults } from './faults.ts'
import { type FoundCluster, findCluster } from './find-cluster.ts'
import { installFirst } from './first-install.ts'
import { type Installation, openInstallation, release, setValues } from './installation.ts'
import { checkReach } from './reach.ts'
import { createReport, type Report } from './report.ts'
import { checkScaling } from './scaling.ts'
import { run as runProgram } from './shell.ts'
import { checkSidecar } from './sidecar.ts'
import { checkUninstall } from './uninstall.ts'
import { checkUpgrades } from './upgrades.ts'

const NAMESPACE = 'weir-e2e'
const KEYS = 12

const steps = ['callers', 'encrypted', 'scaling', 'upgrades', 'faults', 'sidecar'] as const
type Step = (typeof steps)[number]

const wanted = process.argv.slice(2)
const isWanted = (step: Step) => wanted.length === 0 || wanted.includes(step)

/** Keys of as many owners, each with a bucket that nobody has touched, known to the installation. */
const giveKeys = async (installation: Installation) => {
  const made = []
  for (let n = 0; n < KEYS; n++) made.push(await installation.createKey(`load-${n}`, 'pro'))
  const lines = made.map(({ line }) => line).join('\n')
  await installation.kubectl.do('create', 'secret', 'generic', 'load-keys', `--from-literal=api-keys=${lines}`)
  await installation.upgrade(...setValues({ 'api.keys.existingSecret': 'load-keys', 'api.replicas': 2 }))
  return made.map(({ key }) => key)
}

const runOn = async (cluster: Cluster, report: Report) => {
  await report.step('the chart, before it is installed', () => checkChart(report))
  await using installation = await openInstallation(cluster, NAMESPACE, report)
  const diagnosed = async (name: string, work: () => Promise<void>) => {
    const held = await report.step(name, work)
    if (!held) await diagnose(installation)
    return held
  }
  const isInstalled = await diagnosed('installed from nothing', () => installFirst(installation))
  if (!isInstalled) return report.claim('what needs an installation was not run', false)
  if (isWanted('callers')) await diagnosed('who is charged', () => checkCallers(installation))
  if (isWanted('callers')) await diagnosed('who reaches whom', () => checkReach(installation))
  let keys: readonly string[] = []
  await diagnosed('keys', async () => {
    keys = await giveKeys(installation)
  })
  const [a = '', b = '', c = '', d = '', e = '', f = '', ...others] = keys
  if (isWanted('encrypted')) await diagnosed('encrypted', () => checkEncrypted(installation, f))
  if (isWanted('scaling')) await diagnosed('exact while scaling', () => checkScaling(installation, a))
  if (isWanted('upgrades')) await diagnosed('upgrades under load', () => checkUpgrades(installation, b))
  if (isWanted('faults')) await diagnosed('faults', () => checkFaults(installation, others))
  if (isWanted('sidecar')) await diagnosed('sidecar mode', () => checkSidecar(installation, [c, d, e]))
  await diagnosed('uninstalled', () => checkUninstall(installation))
}

/** What to look at when a step failed, because the cluster is gone afterwards. */
const diagnose = async ({ kubectl, report: { say } }: Installation) => {
  say((await kubectl.try('get', 'pods', '-o', 'wide')).stdout)
  const events = (await kubectl.try('get', 'events', '--sort-by=.lastTimestamp')).stdout.split('\n')
  say(
    events
      .filter((line) => !/\bNormal\b/.test(line))
      .slice(-15)
      .join('\n'),
  )
  for (const component of ['limiter', 'api', 'redis']) {
    const selector = `app.kubernetes.io/component=${component},app.kubernetes.io/instance=${release}`
    const logs = await kubectl.try('logs', '--selector', selector, '--all-containers', '--tail=4', '--prefix')
    say(logs.stdout.slice(-3_000))
    for (const { name } of (await kubectl.pods(component)).filter(({ restarts }) => restarts > 0)) {
      const options = ['--container', component, '--previous', '--tail=4']
      say(`${name} before it was restarted:\n${(await kubectl.try('logs', name, ...options)).stdout.slice(-3_000)}`)
    }
  }
}

const run = async (): Promise<boolean> => {
  const report = createReport(
    (text) => process.stdout.write(text),
    () => performance.now(),
  )
  let found: FoundCluster | undefined
  await report.step('a cluster', async () => {
    found = await findCluster(process.env, report.say)
  })
  if (found?.ok) {
    await using cluster = found.cluster
    report.say(cluster.name)
    report.say((await runProgram('kubectl', ['get', 'nodes', '--output', 'wide', '--no-headers'])).stdout.trim())
    await runOn(cluster, report)
  } else report.claim('there is a Kubernetes', false, found?.why)
  return report.finish().failed === 0
}

const unknown = wanted.filter((name) => !steps.some((step) => step === name))
if (unknown.length > 0) {
  process.stderr.write(`no step ${unknown.join(', ')}: there are ${steps.join(', ')}\n`)
  process.exit(2)
}
// Nor does it wait for what a step that came to no end still has under way.
process.exit((await run()) ? 0 : 1)
