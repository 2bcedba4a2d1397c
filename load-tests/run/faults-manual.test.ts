import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { manualSurroundings } from './faults-manual.ts'

/** Somebody at a terminal. */
const openTerminal = () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let shown = ''
  output.setEncoding('utf8').on('data', (text: string) => (shown += text))
  return { input, output, shown: () => shown }
}

test('says what to do, and waits until somebody has done it', async () => {
  const terminal = openTerminal()
  let done = false
  const fault = manualSurroundings(terminal)
    .makeFault('store-away')
    .then((shown) => {
      done = true
      return shown
    })
  await new Promise(setImmediate)
  expect(terminal.shown()).toContain('Cut the limiters off their store.')
  expect(done).toBe(false)
  terminal.input.write('\n')
  expect(await fault).toBe('done, says who did it')
})

test('several faults are asked for one after the other on one terminal', async () => {
  const terminal = openTerminal()
  const { makeFault } = manualSurroundings(terminal)
  const away = makeFault('store-away')
  terminal.input.write('\n')
  await away
  const back = makeFault('store-back')
  terminal.input.write('\n')
  await back
  expect(terminal.shown()).toContain('Let the limiters reach their store again.')
})

test('a fault that cannot be made is said with no, or by the end of the input', async () => {
  const refusing = openTerminal()
  const refused = manualSurroundings(refusing).makeFault('kill-primary')
  refusing.input.write('No\n')
  await expect(refused).rejects.toThrow('the fault kill-primary was not made')
  const ending = openTerminal()
  const ended = manualSurroundings(ending).makeFault('kill-primary')
  ending.input.end()
  await expect(ended).rejects.toThrow('nobody is there to make the fault kill-primary')
})

test('once nobody is asked any more, an open input does not keep the process alive', async () => {
  const program = `
    import { manualSurroundings } from ${JSON.stringify(import.meta.resolve('./faults-manual.ts'))}
    {
      using somebody = manualSurroundings()
      await somebody.makeFault('store-away')
    }`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(child, 'exit')
  child.stdin.write('\n')
  const [code] = await ended
  child.stdin.destroy()
  expect(code).toBe(0)
})
