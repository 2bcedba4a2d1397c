import { setTimeout as sleep } from 'node:timers/promises'
import { awaitValue } from './await.ts'
import { type Installation, release, scale, setValues } from './installation.ts'
import { startLoad } from './load.ts'
import { watchDecisions } from './metrics.ts'
import { claimExact } from './verdicts.ts'

const RATE_PER_S = 40
/** With the scaling itself, several minutes in all. */
const STEADY_MS = 30_000
const MOST_LIMITERS = 5

/** One bucket under a steady load while limiter and API pods come and go, by hand and by the autoscaler. */
export const checkScaling = async (installation: Installation, key: string) => {
  const { kubectl, cluster, upgrade, report } = installation
  const url = `http://${release}-api/v1/orders?limit=1`
  await using watch = watchDecisions(kubectl)
  await using load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url,
    key,
    ratePerS: RATE_PER_S,
    connections: 'new',
  })
  const beganMs = performance.now()
  const sayWhen = (what: string) => report.say(`${((performance.now() - beganMs) / 1000).toFixed(0)} s: ${what}`)
  for (const replicas of [2, 5, 1, 3]) {
    await scale(installation, replicas, ['limiter', 'api'])
    sayWhen(`${replicas} limiters and ${replicas} APIs`)
    await sleep(STEADY_MS)
  }
  await scaleByCpu(installation, 3)
  sayWhen(`${MOST_LIMITERS} limiters, by the autoscaler`)
  await sleep(STEADY_MS)

  const seen = await load.stop()
  const local = await watch.stop()
  const minutes = ((performance.now() - beganMs) / 60_000).toFixed(1)
  report.say(`${seen.calls.length} requests in ${minutes} minutes; ${local.pods} pods of limiter and API took part`)
  claimExact('scaled 2 → 5 → 1 → 3 and by the autoscaler', seen, local, report)
  await upgrade(...setValues({ 'limiter.autoscaling.enabled': false, 'limiter.replicas': 2, 'api.replicas': 2 }))
}

/** Upwards, because a cluster's autoscaler may wait for minutes before it takes pods away; and by so little that it will. */
const scaleByCpu = async ({ kubectl, upgrade, report }: Installation, from: number) => {
  await upgrade(
    ...setValues({
      'limiter.autoscaling.enabled': true,
      'limiter.autoscaling.minReplicas': 1,
      'limiter.autoscaling.maxReplicas': MOST_LIMITERS,
      'limiter.autoscaling.targetCPUUtilizationPercentage': 5,
    }),
  )
  const limiters = await awaitValue('the autoscaler acts', 240_000, async () => {
    const pods = await kubectl.pods('limiter')
    return pods.length > from && pods.every(({ ready }) => ready) ? pods.length : undefined
  })
  report.claim('the autoscaler acts, by the limiters’ CPU', limiters > from, `${from} → ${limiters} limiters`)
}
