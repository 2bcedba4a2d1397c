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

const BASE_IMAGE = 'localhost/node:24-bookworm-slim'
const BASE_IMAGE_WITH_K6 = 'localhost/node-and-k6:24-bookworm-slim'

// One image, under all these names: the base that the cluster's scripts make has Redis, PostgreSQL and nginx in it.
const images: Images = {
  weir: { repository: 'localhost/weir', tags: ['e2e-1', 'e2e-2'] },
  redis: { repository: 'localhost/redis', tag: 'e2e' },
  postgres: { repository: 'localhost/postgres', tag: 'e2e' },
  k6: 'localhost/k6:e2e',
  nginx: 'localhost/nginx:e2e',
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

  const tools = await run('bash', ['-c', 'command -v containerd runc nft conntrack buildah'])
  await timed('programs of the cluster', () => script('build.sh', ...(tools.code === 0 ? [] : ['--apt'])))
  const environment = await runOrThrow('bash', ['-c', `. ${folder}/env.sh; printf '%s\\n%s' "$PATH" "$KUBECONFIG"`])
  const [path = '', kubeconfig = ''] = environment.split('\n')
  process.env['PATH'] = path
  process.env['KUBECONFIG'] = kubeconfig

  await timed('base image', () => script('base-image.sh', BASE_IMAGE))
  await timed('base image with k6', () => buildK6(path))
  await timed('image of Weir', buildWeir)
  await timed('cluster up', () => script('up.sh'))
  await timed('image loaded', () => script('load-image.sh', '--buildah', weirImage(images.weir.tags[0])))
  await timed('its other names', () => nameImage(folder))
  for (const line of await imageSizes()) say(line)

  const volumes = openVolumes()
  return {
    name: `the one-node Kubernetes of ${folder}`,
    images,
    [Symbol.asyncDispose]: async () => clearInterval(volumes),
  }
}

const weirImage = (tag: string) => `${images.weir.repository}:${tag}`
const otherNames = () => [
  weirImage(images.weir.tags[1]),
  `${images.redis.repository}:${images.redis.tag}`,
  `${images.postgres.repository}:${images.postgres.tag}`,
  images.k6,
  images.nginx,
]

/** Loading it once takes long enough. */
const nameImage = (folder: string) => {
  const name = weirImage(images.weir.tags[0])
  const commands = otherNames().map((other) => `CTR images tag --force ${name} ${other}`)
  return runOrThrow('bash', ['-ec', [`. ${folder}/env.sh`, ...commands].join('\n')])
}

const buildEnvironment = () => ({
  ...process.env,
  BUILDAH_ISOLATION: 'chroot',
  K8S_NODE_BIN: process.execPath,
  K8S_EXTRA_PACKAGES: 'postgresql-15 nginx-light',
  // Services that a package brings must not start.
  RUNLEVEL: '1',
})

const buildWeir = async () => {
  const [first] = images.weir.tags
  const build = ['bud', '--layers', '--pull-never', '--quiet', '--file', join(root, 'deploy/Dockerfile')]
  const options = ['--ignorefile', join(root, 'deploy/Dockerfile.dockerignore'), '--tag', weirImage(first)]
  const settings = [`NODE_EXTRA_CA_CERTS=${CA_BUNDLE}`, `BASE_IMAGE=${BASE_IMAGE_WITH_K6}`]
  const given = settings.flatMap((setting) => ['--build-arg', setting])
  await runOrThrow('buildah', [...build, ...given, ...options, root], {
    deadlineMs: BUILD_DEADLINE_MS,
    env: buildEnvironment(),
  })
}

const buildK6 = async (path: string) => {
  const found = await run('bash', ['-c', 'command -v k6'], { env: { ...process.env, PATH: path } })
  const folder = await mkdtemp(join(tmpdir(), 'weir-k6-'))
  try {
    await copyFile(found.stdout.trim(), join(folder, 'k6'))
    await writeFile(join(folder, 'Dockerfile'), `FROM ${BASE_IMAGE}\nCOPY k6 /usr/bin/k6\n`)
    await runOrThrow('buildah', ['bud', '--pull-never', '--layers', '--quiet', '--tag', BASE_IMAGE_WITH_K6, folder], {
      deadlineMs: BUILD_DEADLINE_MS,
      env: buildEnvironment(),
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const imageSizes = async () => {
  const listed = await runOrThrow('buildah', ['images', '--format', '{{.Name}}:{{.Tag}} {{.Size}}'])
  return listed.split('\n').filter((line) => line.includes('/node') || line.includes(weirImage(images.weir.tags[0])))
}

/** Opens each new volume to its pod, as fsGroup does with volumes of a real storage class. */
const openVolumes = () =>
  setInterval(() => {
    void readdir(VOLUMES)
      .then((names) => Promise.all(names.map((name) => chmod(join(VOLUMES, name), 0o777))))
      .catch(() => {})
  }, 300)
