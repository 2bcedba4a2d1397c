// Where did a process spend its time?   node load-tests/bench/profile.ts FILE.cpuprofile …
// Of what `npm run bench -- --profile FOLDER` leaves there: the parts of the program and the functions that took most, calls not included.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type CpuProfile, roomOf, type Share, selfTime } from './self-time.ts'

const ROOMS = 20
const FUNCTIONS = 25

const lines = (shares: readonly Share[], count: number) =>
  shares
    .slice(0, count)
    .map(({ name, percent }) => `${percent.toFixed(1).padStart(5)} %  ${name}`)
    .join('\n')

for (const file of process.argv.slice(2)) {
  const profile: CpuProfile = JSON.parse(await readFile(file, 'utf8'))
  const functions = selfTime(profile, (frame) => `${frame.functionName || '(anonymous)'} ${basename(frame.url)}`.trim())
  process.stdout.write(`${file}\n${lines(selfTime(profile, roomOf), ROOMS)}\n\n${lines(functions, FUNCTIONS)}\n`)
}
