// npm run chaos -- [SECONDS] [SEED]: random faults, one after the other, on six Redis machines, four limiters and two APIs while callers
// ask; what each bucket admitted against its bound, and how long everybody took to find back. Needs root: machines are network namespaces.
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../services/platform/service.fixture.ts'
import { createRandom } from '../../services/simulation/model/random.ts'
import { startCallers } from './callers.ts'
import { isReplicated, isWhole } from './cluster.ts'
import { faults } from './faults.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Episode, judgeChaos } from './report.ts'

const [, , secondsText = '180', seedText = `${Date.now() % 1_000_000}`] = process.argv
const [seconds, seed] = [Number(secondsText), Number(seedText)]
if (!Number.isSafeInteger(seconds) || seconds < 1 || !Number.isSafeInteger(seed) || seed < 0) {
  process.stderr.write('usage: npm run chaos -- [SECONDS] [SEED], both whole numbers\n')
  process.exit(2)
}

/** Everybody counts in the store again, and is owed nothing. */
const RECOVERY_LIMIT_MS = 60_000
const QUIET_MS = 2_000

const isWell = async ({ machines, limiters }: Installation) => {
  if (!(await isWhole(machines))) return false
  const pages = await Promise.all(limiters.map(({ metrics }) => metrics().catch(() => '')))
  return pages.every(
    (page) => /^weir_store_shards_given_up 0$/m.test(page) && /^weir_share_open_accounts 0$/m.test(page),
  )
}

const random = createRandom(seed)
process.stdout.write(`seed ${seed}, ${seconds} s of faults\n`)
await using installation = await startInstallation()
const episodes: Episode[] = []
let judged: ReturnType<typeof judgeChaos>
{
  await using callers = startCallers(installation)
  const endMs = performance.now() + seconds * 1_000
  while (performance.now() < endMs) {
    const kinds = Object.keys(faults)
    const kind = kinds[random.whole(0, kinds.length - 1)] ?? ''
    const name = `${episodes.length + 1} ${kind}`
    callers.nameFault(name)
    await delay(QUIET_MS)
    await faults[kind]?.(installation, random)
    const overMs = performance.now()
    await until(() => isWell(installation), RECOVERY_LIMIT_MS)
    const recoveryMs = performance.now() - overMs
    await delay(QUIET_MS)
    callers.nameFault('none')
    await callers.drain(name)
    episodes.push({ name, kind, recoveryMs })
    process.stdout.write(`${name}: everybody is back after ${Math.round(recoveryMs)} ms\n`)
    // The next fault finds a replica for each primary.
    await until(() => isReplicated(installation.machines), RECOVERY_LIMIT_MS)
  }
  judged = judgeChaos({ episodes, histories: callers.histories, apiAnswers: callers.apiAnswers })
}
process.stdout.write(`\n${judged.text}\n`)
process.exitCode = judged.failed === 0 ? 0 : 1
