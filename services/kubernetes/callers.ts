import { addressOf, callerPod, idle } from './caller-pod.ts'
import { type Installation, release, scale, setValues } from './installation.ts'

const API_PODS = 3
const ANONYMOUS_CAPACITY = 20

const nginxConf = `
daemon off;
pid /tmp/nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path /tmp; proxy_temp_path /tmp; fastcgi_temp_path /tmp; uwsgi_temp_path /tmp; scgi_temp_path /tmp;
  server {
    listen 8000;
    location / {
      proxy_pass http://${release}-api;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** Who is charged for what: by address behind an ingress, by key everywhere, and nobody for probes. */
export const checkCallers = async (installation: Installation) => {
  const { kubectl, cluster, upgrade, report } = installation
  const { claim } = report
  const { repository, tags } = cluster.images.weir
  await scale(installation, API_PODS, ['api'])
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ingress' },
    data: { 'nginx.conf': nginxConf },
  })
  await kubectl.apply(callerPod('ingress', cluster.images.nginx, undefined))
  for (const name of ['alice', 'bob', 'carol', 'dave'])
    await kubectl.apply(callerPod(name, `${repository}:${tags[0]}`, idle))
  const ingress = await addressOf(kubectl, 'ingress')
  for (const name of ['alice', 'bob', 'carol', 'dave']) await addressOf(kubectl, name)

  const { key, line } = await installation.createKey('user-of-three-pods', 'free')
  await kubectl.do('create', 'secret', 'generic', 'api-keys', `--from-literal=api-keys=${line}`)
  await upgrade(
    ...setValues({ 'api.keys.existingSecret': 'api-keys', 'api.replicas': API_PODS }),
    '--set',
    `api.trustedProxies={${ingress}/32}`,
  )
  claim('an API key made inside a pod, put into a secret and given to the chart is known', true)

  const ask = async (from: string, url: string, count: number, headers: Readonly<Record<string, string>> = {}) => {
    const program = `
      const answers = []
      for (let n = 0; n < ${count}; n++) {
        const answer = await fetch('${url}', { headers: ${JSON.stringify(headers)} })
        answers.push({ status: answer.status, headers: Object.fromEntries(answer.headers), body: (await answer.text()).slice(0, 200) })
      }
      console.log(JSON.stringify(answers))`
    return JSON.parse(
      await kubectl.do('exec', from, '--', 'node', '--input-type=module', '-e', program),
    ) as readonly Answer[]
  }
  const admitted = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 200).length
  const proxied = `http://${ingress}:8000/v1/orders?limit=1`
  const direct = `http://${release}-api/v1/orders?limit=1`

  const metricsBefore = await Promise.all(
    (await kubectl.pods('api')).map(({ name }) => kubectl.page(name, 9092, '/metrics')),
  )
  claim(
    'metrics are scraped',
    metricsBefore.every((page) => page.includes('weir_api_request_duration_seconds')),
  )

  const first = await ask('alice', proxied, ANONYMOUS_CAPACITY + 5)
  claim(
    `the first address behind the ingress is admitted ${ANONYMOUS_CAPACITY} times`,
    isAbout(admitted(first), ANONYMOUS_CAPACITY),
    `${admitted(first)} of ${first.length}`,
  )
  const [forged] = await ask('alice', proxied, 1, { 'x-forwarded-for': '203.0.113.7' })
  claim('a forged entry on the left changes nothing: still 429', forged?.status === 429, `${forged?.status}`)
  const second = await ask('bob', proxied, ANONYMOUS_CAPACITY + 5)
  claim(
    'the second address has a bucket of its own',
    isAbout(admitted(second), ANONYMOUS_CAPACITY),
    `${admitted(second)} of ${second.length}`,
  )
  checkRefusal(first.at(-1), claim)

  const straight = await ask('carol', direct, ANONYMOUS_CAPACITY + 5)
  claim(
    'a pod that calls the API straight has a bucket of its own',
    isAbout(admitted(straight), ANONYMOUS_CAPACITY),
    `${admitted(straight)} of ${straight.length}`,
  )
  const [pretender] = await ask('carol', direct, 1, { 'x-forwarded-for': '203.0.113.8' })
  claim(
    'the same header from a pod that is no proxy changes nothing: still 429',
    pretender?.status === 429,
    `${pretender?.status}`,
  )

  // One key, three pods by their own addresses.
  const pods = await kubectl.pods('api')
  const byPod = await Promise.all(
    pods.map(({ address }) =>
      ask('dave', `http://${address}:8080/v1/orders?limit=1`, 40, { authorization: `Bearer ${key}` }),
    ),
  )
  const each = byPod.map(admitted)
  const sum = each.reduce((total, count) => total + count, 0)
  claim(
    `${pods.length} API pods behave as one: a bucket of 60 admits 60 of ${pods.length * 40}`,
    isAbout(sum, 60),
    each.join(' + '),
  )
  claim(
    'each of them answered',
    byPod.every((answers) => answers.every(({ status }) => status === 200 || status === 429)),
  )

  for (let n = 0; n < 30; n++) await Promise.all(pods.map(({ name }) => kubectl.page(name, 9092, '/readyz')))
  const [afterProbes] = await ask('dave', direct, 1)
  const left = Number(afterProbes?.headers['ratelimit-remaining'])
  claim(
    'probes and scrapes spend nothing: a new caller finds its bucket full',
    left === ANONYMOUS_CAPACITY - 1,
    `${left} left after its first request`,
  )
  await kubectl.do('delete', 'pod', 'ingress', 'alice', 'bob', 'carol', 'dave', '--wait=false')
}

/** The policies refill one token a minute: a test that takes its time may see one or two more. */
const isAbout = (admitted: number, capacity: number) => admitted >= capacity && admitted <= capacity + 2

const checkRefusal = (refusal: Answer | undefined, claim: (text: string, holds: boolean, figures?: string) => void) => {
  const { headers = {}, status = 0, body = '' } = refusal ?? {}
  const fields = [
    'retry-after',
    'ratelimit-limit',
    'ratelimit-remaining',
    'ratelimit-reset',
    'ratelimit',
    'ratelimit-policy',
  ]
  const missing = fields.filter((name) => headers[name] === undefined)
  claim(
    'a 429 passes the ingress with all its headers',
    status === 429 &&
      missing.length === 0 &&
      headers['content-type'] === 'application/json' &&
      /^\{"error":"/.test(body),
    missing.length === 0 ? `Retry-After ${headers['retry-after']}, ${body}` : `without ${missing.join(' ')}`,
  )
}
