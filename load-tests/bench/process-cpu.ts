import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const TICKS_PER_S = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** The processor time that a process has taken so far, its own and the kernel's for it. */
export const processCpuUs = (pid: number) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field, a name in brackets, may hold spaces; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_S
}
