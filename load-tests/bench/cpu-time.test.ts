import { expect, test } from 'vitest'
import { parseBusyTicks, parseCpuTicks, readCpuUs, readMachineCpuUs } from './cpu-time.ts'

test('a process’s time is the 14th and 15th field, whatever its name', () => {
  const rest = 'S 1 2 3 4 5 6 7 8 9 10 1200 34 99 98 20 0 11 0 5 6'
  for (const name of ['(node)', '(a b)', '(a) S 1 (b))'])
    expect(parseCpuTicks(`4711 ${name} ${rest}\n`), name).toBe(1_234)
})

test('a machine’s time is everything but idling and waiting for disks', () => {
  const first = 'cpu  100 20 3 999999 888888 4000 50000 600000 77 88'
  expect(parseBusyTicks(`${first}\ncpu0 1 1 1 1 1 1 1 1 1 1\n`)).toBe(654_123)
})

test('this process’s own time is read as the runtime tells it, within two ticks and what reading takes', () => {
  const runtimeUs = () => {
    const { user, system } = process.cpuUsage()
    return user + system
  }
  const machineUs = readMachineCpuUs()
  const [before, startUs] = [readCpuUs(process.pid), runtimeUs()]
  while (runtimeUs() < startUs + 300_000);
  const [after, endUs] = [readCpuUs(process.pid), runtimeUs()]
  expect(Math.abs(after - before - (endUs - startUs))).toBeLessThan(60_000)
  expect(readMachineCpuUs() - machineUs).toBeGreaterThan(200_000)
})
