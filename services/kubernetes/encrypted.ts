import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chart, type Installation, release, setValues } from './installation.ts'
import { startLoad } from './load.ts'
import { watchDecisions } from './metrics.ts'
import { runOrThrow } from './shell.ts'
import { claimExact } from './verdicts.ts'

const RATE_PER_S = 40
const LOAD_MS = 10_000

/** API and limiters show each other certificates, made as the chart's README says; nobody notices the change, and who shows none is not served. */
export const checkEncrypted = async (installation: Installation, key: string) => {
  const { kubectl, cluster, upgrade, helm, report } = installation
  const { claim } = report
  await makeCertificates(kubectl.namespace)
  claim('the README’s commands make an authority, certificates and their secrets', true)
  await upgrade(
    ...setValues({
      'limiter.tls.existingSecret': 'weir-limiter-tls',
      'limiter.tls.clientCertificates': true,
      'api.limiter.tls.existingSecret': 'weir-api-limiter-tls',
    }),
  )
  await using watch = watchDecisions(kubectl)
  await using load = await startLoad({
    kubectl,
    image: cluster.images.k6,
    url: `http://${release}-api/v1/orders?limit=1`,
    key,
    ratePerS: RATE_PER_S,
    connections: 'kept',
  })
  await sleep(LOAD_MS)
  claimExact('with certificates on both sides', await load.stop(), await watch.stop(), report)
  const tested = await helm('test', release, '--logs', '--timeout', '180s')
  claim('helm test passes with certificates', tested.code === 0, tested.code === 0 ? '' : tested.stdout + tested.stderr)

  const answers = (await kubectl.do('exec', `deployment/${release}-api`, '-c', 'api', '--', 'node', '-e', STRANGERS))
    .trim()
    .split('\n')
  claim(
    'a caller in plain text and one without a certificate get no answer, one with a certificate does',
    answers.join() === 'plain: closed,stranger: closed,friend: answered',
    answers.join(', '),
  )
  await upgrade(
    ...setValues({
      'limiter.tls.existingSecret': '',
      'limiter.tls.clientCertificates': false,
      'api.limiter.tls.existingSecret': '',
    }),
  )
  await kubectl.do('delete', 'secret', 'weir-limiter-tls', 'weir-api-limiter-tls')
}

const makeCertificates = async (namespace: string) => {
  const readme = await readFile(join(chart, 'README.md'), 'utf8')
  const commands = /```sh\n(?<block>[^`]*openssl req -x509[^`]*)```/.exec(readme)?.groups?.['block']
  if (commands === undefined) throw new Error('the README has no commands that make certificates')
  const folder = await mkdtemp(join(tmpdir(), 'weir-e2e-'))
  try {
    const there = `cd ${folder}; kubectl() { command kubectl --namespace ${namespace} "$@"; }`
    await runOrThrow('bash', ['-ec', `${there}\n${commands}`])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Begins HTTP/2 with a limiter in three ways, and says whether it does so too. */
const STRANGERS = `
const { readFileSync } = require('node:fs')
const { connect } = require('node:net')
const tls = require('node:tls')
const read = (name) => readFileSync('/etc/weir/limiter-tls/' + name)
const host = '${release}-limiter', port = 50051
const trusted = { host, port, servername: host, ca: read('ca.crt'), ALPNProtocols: ['h2'] }
const greet = (open, event) => new Promise((resolve) => {
  const socket = open()
  socket.once(event, () => socket.write('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\0\\0\\0\\x04\\0\\0\\0\\0\\0'))
  // The type of HTTP/2's first frame is 4; an alert of TLS has another at that place.
  socket.once('data', (data) => { resolve(data[3] === 4 ? 'answered' : 'closed'); socket.destroy() })
  socket.once('error', () => resolve('closed'))
  socket.once('close', () => resolve('closed'))
})
const run = async () => {
  console.log('plain: ' + await greet(() => connect(port, host), 'connect'))
  console.log('stranger: ' + await greet(() => tls.connect(trusted), 'secureConnect'))
  console.log('friend: ' + await greet(() => tls.connect({ ...trusted, cert: read('tls.crt'), key: read('tls.key') }), 'secureConnect'))
}
run()
`
