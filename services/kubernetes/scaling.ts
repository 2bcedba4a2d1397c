import { setTimeout as sleep } from 'node:timers/promises'
import { awaitTrue } from './await.ts'
import { type Installation, release, scale, setValues } from './installation.ts'
import { startLoad } from './load.ts'
import { watchDecisions } from './metrics.ts'
import { claimExact } from './verdicts.ts'

const RATE_PER_S = 40
const STEADY_MS = 8_000

/** One bucket under a steady load while limiter and API pods come and go, by hand and by the autoscaler. */
export const checkScaling = async (installation: Installation, key: string) => {
  const { kubectl, cluster, upgrade, report } = installation
  const url = `http://${release}-api/v1/orders?limit=1`
  const watch = watchDecisions(kubectl)
  const load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url,
    key,
    ratePerS: RATE_PER_S,
    connections: 'new',
  })
  const beganMs = performance.now()
  for (const replicas of [2, 5, 1, 3]) {
    await scale(installation, replicas, ['limiter', 'api'])
    report.say(`${((performance.now() - beganMs) / 1000).toFixed(0)} s: ${replicas} limiters and ${replicas} APIs`)
    await sleep(STEADY_MS)
  }
  await upgrade(
    ...setValues({
      'limiter.autoscaling.enabled': true,
      'limiter.autoscaling.minReplicas': 1,
      'limiter.autoscaling.maxReplicas': 5,
      'limiter.autoscaling.targetCPUUtilizationPercentage': 60,
    }),
  )
  let before = 0
  let after = 0
  await awaitTrue('the autoscaler acts', 240_000, async () => {
    const [desired, current] = (
      await kubectl.do(
        'get',
        `hpa/${release}-limiter`,
        '-o',
        'jsonpath={.status.desiredReplicas} {.status.currentReplicas}',
      )
    )
      .split(' ')
      .map(Number)
    const replicas = Number(await kubectl.do('get', `deploy/${release}-limiter`, '-o', 'jsonpath={.spec.replicas}'))
    if (before === 0) before = replicas
    after = replicas
    return replicas !== before && desired === current
  })
  report.claim('the autoscaler acts once, by the limiters’ CPU', after !== before, `${before} → ${after} limiters`)
  await sleep(STEADY_MS)

  const seen = await load.stop()
  const { decidedLocally, pods } = await watch.stop()
  const minutes = ((performance.now() - beganMs) / 60_000).toFixed(1)
  report.say(`${seen.calls.length} requests in ${minutes} minutes; ${pods} pods of limiter and API took part`)
  claimExact('scaled 2 → 5 → 1 → 3 and by the autoscaler', seen, decidedLocally, report)
  await upgrade(...setValues({ 'limiter.autoscaling.enabled': false, 'limiter.replicas': 2, 'api.replicas': 2 }))
}
