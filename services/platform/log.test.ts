import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const logged = async (statement: string) => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)}
    const log = createLog('test', 'info', (line) => line.replaceAll('hunter2', '[scrubbed]'))
    ${statement}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', program])
  return stdout
}

test('credentials in a logged object are blotted out', async () => {
  const line = await logged(
    `log.info({ headers: { authorization: 'Bearer x1' }, request: { authorization: 'x2' }, password: 'x3' }, 'note')`,
  )
  expect(JSON.parse(line)).toMatchObject({
    service: 'test',
    msg: 'note',
    headers: { authorization: '[redacted]' },
    request: { authorization: '[redacted]' },
    password: '[redacted]',
  })
})

test('every line is scrubbed before it is written, those of child logs and of errors too', async () => {
  const text = await logged(`
    log.info('hunter2')
    log.child({ user: 'hunter2' }).error(new Error('wrong: hunter2'))`)
  expect(text.trim().split('\n')).toHaveLength(2)
  expect(text).toContain('[scrubbed]')
  expect(text).not.toContain('hunter2')
})
