import { chmod, copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster, Images } from './cluster.ts'
import { run, runOrThrow } from './shell.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const BUILD_DEADLINE_MS = 900_000
/** Where the controller manager puts volumes: owned by root, and fsGroup does not reach them. */
const VOLUMES = '/tmp/hostpath_pv'
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt'

const images: Images = {
  weir: { repository: 'localhost/weir', tags: ['e2e-1', 'e2e-2'] },
  redis: { repository: 'localhost/redis', tag: '7.2-bookworm' },
  postgres: { repository: 'localhost/postgres', tag: '15-bookworm' },
  k6: 'localhost/k6:e2e',
  nginx: 'localhost/nginx:1-bookworm',
}

/**
 * The one-node Kubernetes of a folder such as `../shared/kube` (`WEIR_KUBE`), brought up if it is not, with all images built on this
 * machine. It stays up afterwards: whoever wants it gone runs the folder's `down.sh`.
 */
export const openLocalCluster = async (folder: string, say: (text: string) => void): Promise<Cluster> => {
  const script = (name: string, ...args: readonly string[]) =>
    runOrThrow(join(folder, name), args, { deadlineMs: BUILD_DEADLINE_MS, env: buildEnvironment() })
  const timed = async (what: string, work: () => Promise<unknown>) => {
    const startMs = performance.now()
    await work()
    say(`${what}: ${((performance.now() - startMs) / 1000).toFixed(0)} s`)
  }

  await timed('programs of the cluster', () => script('build.sh', '--apt'))
  const environment = await runOrThrow('bash', ['-c', `. ${folder}/env.sh; printf '%s\\n%s' "$PATH" "$KUBECONFIG"`])
  const [path = '', kubeconfig = ''] = environment.split('\n')
  process.env['PATH'] = path
  process.env['KUBECONFIG'] = kubeconfig

  await timed('base image', () => script('base-image.sh', 'localhost/node:24-bookworm-slim', ...baseImages()))
  await timed('image of Weir', buildWeir)
  await timed('image of k6', () => buildK6(path))
  await timed('cluster up', () => script('up.sh'))
  await timed('images loaded', () =>
    script('load-image.sh', '--buildah', ...baseImages(), images.k6, ...images.weir.tags.map(weirImage)),
  )
  for (const line of await imageSizes()) say(line)

  const volumes = openVolumes()
  return {
    name: `the one-node Kubernetes of ${folder}`,
    images,
    [Symbol.asyncDispose]: async () => clearInterval(volumes),
  }
}

const weirImage = (tag: string) => `${images.weir.repository}:${tag}`
const baseImages = () => [
  `${images.redis.repository}:${images.redis.tag}`,
  `${images.postgres.repository}:${images.postgres.tag}`,
  images.nginx,
]

const buildEnvironment = () => ({
  ...process.env,
  BUILDAH_ISOLATION: 'chroot',
  K8S_NODE_BIN: process.execPath,
  K8S_EXTRA_PACKAGES: 'postgresql-15 nginx-light',
  // Services that a package brings must not start.
  RUNLEVEL: '1',
})

const buildWeir = async () => {
  const [first, second] = images.weir.tags
  const build = ['bud', '--pull-never', '--quiet', '--file', join(root, 'deploy/Dockerfile')]
  const options = ['--ignorefile', join(root, 'deploy/Dockerfile.dockerignore'), '--tag', weirImage(first)]
  const certificates = ['--build-arg', `NODE_EXTRA_CA_CERTS=${CA_BUNDLE}`]
  await runOrThrow('buildah', [...build, ...certificates, ...options, root], {
    deadlineMs: BUILD_DEADLINE_MS,
    env: buildEnvironment(),
  })
  await runOrThrow('buildah', ['tag', weirImage(first), weirImage(second)])
}

const buildK6 = async (path: string) => {
  const found = await run('bash', ['-c', 'command -v k6'], { env: { ...process.env, PATH: path } })
  const folder = await mkdtemp(join(tmpdir(), 'weir-k6-'))
  try {
    await copyFile(found.stdout.trim(), join(folder, 'k6'))
    await writeFile(join(folder, 'Dockerfile'), `FROM ${baseImages()[0]}\nCOPY k6 /usr/bin/k6\nENTRYPOINT ["k6"]\n`)
    await runOrThrow('buildah', ['bud', '--pull-never', '--quiet', '--tag', images.k6, folder], {
      deadlineMs: BUILD_DEADLINE_MS,
      env: buildEnvironment(),
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const imageSizes = async () => {
  const listed = await runOrThrow('buildah', ['images', '--format', '{{.Name}}:{{.Tag}} {{.Size}}'])
  return listed.split('\n').filter((line) => line.includes('/node:') || line.includes(weirImage(images.weir.tags[0])))
}

/** Opens each new volume to its pod, as fsGroup does with volumes of a real storage class. */
const openVolumes = () =>
  setInterval(() => {
    void readdir(VOLUMES)
      .then((names) => Promise.all(names.map((name) => chmod(join(VOLUMES, name), 0o777))))
      .catch(() => {})
  }, 300)
