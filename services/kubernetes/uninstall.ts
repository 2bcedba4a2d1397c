import { awaitTrue } from './await.ts'
import { type Installation, release } from './installation.ts'

/** `helm uninstall` leaves what NOTES.txt says, and nothing else. */
export const checkUninstall = async ({ helm, kubectl, report: { claim } }: Installation) => {
  const notes = (await helm('get', 'notes', release)).stdout
  const uninstalled = await helm('uninstall', release, '--wait', '--timeout', '180s')
  claim('helm uninstall ends', uninstalled.code === 0, uninstalled.stderr.trim())
  const kinds = 'pod,deployment,statefulset,service,configmap,secret,serviceaccount,networkpolicy,hpa,pdb,pvc,job'
  const left = async () =>
    (await kubectl.do('get', kinds, '--selector', `app.kubernetes.io/instance=${release}`, '--output', 'name'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('pod/'))
  const stays = [`persistentvolumeclaim/data-${release}-postgresql-0`, `secret/${release}-postgresql`]
  await awaitTrue('the rest is gone', 120_000, async () => (await left()).length <= stays.length)
  const found = (await left()).toSorted()
  claim(
    'it leaves the volume of PostgreSQL and its secret, nothing else',
    found.join() === stays.join(),
    found.join(' '),
  )
  claim(
    'NOTES.txt says so',
    stays.every((name) => notes.includes(name.split('/')[1] ?? '')),
  )
}
