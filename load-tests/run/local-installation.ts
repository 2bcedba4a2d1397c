import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../services/api/database/postgres.fixture.ts'
import { createApiKey, hashApiKey } from '../../services/api/identify/api-key.ts'
import { formatKeyLine } from '../../services/api/identify/key-line.ts'
import { type RedisCluster, startCluster } from '../../services/limiter/redis/redis-server.fixture.ts'
import { startIngress } from './ingress.ts'
import type { LocalPlan } from './local-plans.ts'
import type { Plant } from './plants.ts'
import { localPolicies } from './policies.ts'
import { createReplicas, type Replicas, sources } from './replicas.ts'

export type LocalInstallation = AsyncDisposable & {
  readonly url: string
  readonly keys: readonly string[]
  readonly replicas: Replicas
  readonly cluster: RedisCluster
}

const PRIMARIES = 3

const DEADLINES = {
  patient: { store: '5000', gate: '10000' },
  prompt: { store: '200', gate: '1000' },
} as const

/** A Redis Cluster, PostgreSQL, limiters and APIs as processes, and an ingress in front of them: all on loopback, all gone at the end. */
export const startLocalInstallation = async (plan: LocalPlan, plant: Plant): Promise<LocalInstallation> => {
  await using started = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-load-'))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const at = (name: string) => join(folder, name)
  const clients = plan.clients.flatMap(({ kind, count }) =>
    Array.from({ length: count }, (_, index) => ({ owner: `${kind}-${index}`, ...createApiKey() })),
  )
  await writeFile(at('policies.yaml'), plant.policies?.(localPolicies) ?? localPolicies)
  await writeFile(at('cursor-secret'), randomUUID())
  await writeFile(at('keys'), clients.map(keyLine).join(''), { mode: 0o600 })

  progress(`Redis Cluster of ${PRIMARIES * (1 + plan.redisReplicas)} nodes`)
  const cluster = started.use(await startCluster({ primaries: PRIMARIES, replicas: plan.redisReplicas }))
  progress('PostgreSQL')
  const database = await started.use(await startPostgres()).createDatabase()
  const ingress = started.use(await startIngress(plant.tamper))
  const { store, gate } = DEADLINES[plan.deadlines]
  const replicas = started.use(
    createReplicas({
      services: (await plant.services?.(folder)) ?? sources,
      limiter: (index) => ({
        LIMITER_STORE: cluster.address,
        LIMITER_STORE_DEADLINE_MS: store,
        LIMITER_POLICIES: at('policies.yaml'),
        ...plant.limiter?.(index),
      }),
      api: () => ({
        DATABASE_URL: database,
        API_KEYS: at('keys'),
        API_CURSOR_SECRET_FILE: at('cursor-secret'),
        API_LIMITER_DEADLINE_MS: gate,
      }),
      onServing: ingress.setTargets,
    }),
  )
  progress(`${plan.replicas} limiters, ${plan.replicas} APIs`)
  await replicas.scaleTo(plan.replicas)
  const kept = started.move()
  return {
    url: ingress.url,
    keys: clients.map(({ key }) => key),
    replicas,
    cluster,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

const keyLine = ({ owner, keyId, key }: { readonly owner: string; readonly keyId: string; readonly key: string }) =>
  `${formatKeyLine({
    keyId,
    hash: hashApiKey(key),
    owner,
    plan: 'pro',
    permissions: new Set(['orders:read', 'orders:write']),
  })}\n`

const progress = (what: string) => process.stderr.write(`starting ${what} …\n`)
