import { type Installation, release } from './installation.ts'

/** From nothing to ready, and exact. */
export const installFirst = async ({ upgrade, helm, kubectl, report: { claim, say } }: Installation) => {
  const startMs = performance.now()
  const installed = await upgrade()
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0)
  claim('helm install, from nothing to ready', true, `${seconds} s`)
  claim(
    'in a namespace that enforces Pod Security "restricted", without a warning',
    !/would violate PodSecurity|Warning/i.test(installed.stderr),
    installed.stderr.trim(),
  )
  for (const component of ['limiter', 'api']) {
    const pods = await kubectl.pods(component)
    const restarts = pods.reduce((sum, pod) => sum + pod.restarts, 0)
    claim(`no ${component} had to be restarted`, restarts === 0, `${restarts} restarts of ${pods.length} pods`)
  }
  const readyS = await startSeconds(kubectl)
  say(`a limiter's container is ready ${readyS.join(', ')} s after its start (probed each second)`)

  const id = await kubectl.do(
    'exec',
    `deployment/${release}-limiter`,
    '-c',
    'limiter',
    '--',
    'sh',
    '-c',
    'id -u; touch /app/x 2>&1; grep CapEff /proc/1/status',
  )
  claim(
    'the limiter is not root, has no capability and cannot write to its image',
    /^10001$/m.test(id) && /Read-only file system/.test(id) && /CapEff:\s0+$/m.test(id),
    id.trim().replaceAll('\n', '; '),
  )

  const tested = await helm('test', release, '--logs', '--timeout', '180s')
  const table = /\n( +offered[\s\S]*?exact)/.exec(tested.stdout)?.[1]
  claim('helm test: one bucket is counted exactly through all limiters', tested.code === 0 && table !== undefined)
  say(table ?? tested.stdout + tested.stderr)
}

type Times = {
  readonly items: readonly {
    readonly status: {
      readonly conditions: readonly { readonly type: string; readonly lastTransitionTime: string }[]
      readonly containerStatuses: readonly { readonly state: { readonly running?: { readonly startedAt: string } } }[]
    }
  }[]
}

const startSeconds = async (kubectl: Installation['kubectl']) => {
  const listed = await kubectl.do('get', 'pods', '-l', 'app.kubernetes.io/component=limiter', '-o', 'json')
  return (JSON.parse(listed) as Times).items.map(({ status }) => {
    const ready = status.conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? ''
    const started = status.containerStatuses[0]?.state.running?.startedAt ?? ''
    return (Date.parse(ready) - Date.parse(started)) / 1000
  })
}
