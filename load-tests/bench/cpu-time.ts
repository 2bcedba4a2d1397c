import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const US_PER_TICK = 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** What a process has taken of the processor since it began, its own and the kernel's for it; in steps of a tick, usually 10,000 µs. */
export const readCpuUs = (pid: number) => parseCpuTicks(readFileSync(`/proc/${pid}/stat`, 'utf8')) * US_PER_TICK

/** What all processes together have taken since the machine started, and those of other machines on the same cores. */
export const readMachineCpuUs = () => parseBusyTicks(readFileSync('/proc/stat', 'utf8')) * US_PER_TICK

/** User and system time, the 14th and 15th field of `/proc/…/stat`. */
export const parseCpuTicks = (stat: string) => {
  // The second field, the program's name in brackets, may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Of all cores: all fields of the first line of `/proc/stat` but idle and waiting for a disk, and but guests, which are counted as users. */
export const parseBusyTicks = (stat: string) => {
  const [user = 0, nice = 0, system = 0, _idle, _waiting, hardware = 0, software = 0, stolen = 0] = stat
    .slice(0, stat.indexOf('\n'))
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return user + nice + system + hardware + software + stolen
}
