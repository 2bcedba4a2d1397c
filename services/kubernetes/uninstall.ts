import { awaitTrue } from './await.ts'
import type { Kubectl } from './cluster.ts'
import { type Installation, release } from './installation.ts'

/** `helm uninstall` leaves what NOTES.txt says, and nothing else. */
export const checkUninstall = async ({ helm, kubectl, report: { claim } }: Installation) => {
  const notes = (await helm('get', 'notes', release)).stdout
  const uninstalled = await helm('uninstall', release, '--wait', '--timeout', '180s')
  claim('helm uninstall ends', uninstalled.code === 0, uninstalled.stderr.trim())
  const stays = [
    `persistentvolumeclaim/data-${release}-postgresql-0`,
    `pod/${release}-test-exact-count`,
    `secret/${release}-postgresql`,
  ]
  const look = async () => (await objectsOf(kubectl)).toSorted().join(' ')
  // What is still on its way out is named where it does not go.
  await awaitTrue('the rest is gone', 120_000, async () => (await look()) === stays.join(' ')).catch(() => {})
  const found = await look()
  claim(
    'it leaves the volume of PostgreSQL, its secret and the pod of the last helm test, nothing else of any kind',
    found === stays.join(' '),
    found,
  )
  claim(
    'NOTES.txt says so',
    stays.every((name) => notes.includes(name.split('/')[1] ?? '')),
  )
  const remove = /^ +kubectl (?<rest>-n \S+ delete .*)$/m.exec(notes)?.groups?.['rest'] ?? ''
  await kubectl.do(...remove.split(' '))
  claim('and its command removes that', (await look()) === '', remove)
}

/** Whatever the release made, of all kinds that the cluster has: each name begins with the release's, that of a volume after `data-`. */
const objectsOf = async (kubectl: Kubectl) => {
  const kinds = (await kubectl.do('api-resources', '--namespaced=true', '--verbs=list', '--output=name'))
    .trim()
    .split('\n')
  // Events stay for an hour, and measurements of pods for a minute.
  const lasting = kinds.filter((kind) => !/^events|\.metrics\.k8s\.io$/.test(kind))
  const listed = await kubectl.do('get', lasting.join(), '--output', 'name', '--ignore-not-found')
  const own = new RegExp(`/(?:data-|sh\\.helm\\.release\\.v1\\.)?${release}[-.]`)
  return listed.split('\n').filter((line) => own.test(line))
}
