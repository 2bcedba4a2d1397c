import { readFileSync } from 'node:fs'

/** What a process has used of the processor since it began, in µs, in steps of 10,000. */
export const readCpuUs = (pid: number) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name, and may hold spaces.
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user + system) * US_PER_TICK
}

/** Of Linux, for all programs. */
const US_PER_TICK = 10_000
