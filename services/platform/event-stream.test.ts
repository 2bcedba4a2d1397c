import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { systemTimers, type Timers } from '../seams/timers.ts'
import { openAdminServer } from './admin-server.ts'
import { createEventStream } from './event-stream.ts'
import { until } from './service.fixture.ts'

const open = async ({ read = () => ({}) as unknown, maxListeners = 3, everyMs = 10 } = {}) => {
  let waiting = 0
  const timers: Timers = {
    ...systemTimers,
    after: (delayMs, callback) => {
      waiting += 1
      const callOff = systemTimers.after(delayMs, () => {
        waiting -= 1
        callback()
      })
      return () => {
        waiting -= 1
        callOff()
      }
    },
  }
  const stream = createEventStream({ read, everyMs, maxListeners, timers })
  const opened = await openAdminServer({
    setting: 'ADMIN',
    address: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    routes: { '/live': stream },
  })
  if (!opened.ok) throw new Error(opened.fault)
  const { server } = opened
  return {
    port: server.port,
    waiting: () => waiting,
    stream,
    listen: async () => {
      const closing = new AbortController()
      const response = await fetch(`http://127.0.0.1:${server.port}/live`, { signal: closing.signal })
      return { response, close: () => closing.abort() }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

test('everybody who listens is told the same, at once and again and again, and nothing runs for nobody', async () => {
  let count = 0
  const read = () => {
    count += 1
    return { count }
  }
  await using opened = await open({ read })
  expect(opened.waiting()).toBe(0)
  const listeners = [await opened.listen(), await opened.listen()]
  for (const { response } of listeners) {
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    let seen = ''
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    await until(async () => {
      seen += (await reader?.read())?.value ?? ''
      return (seen.match(/^data: \{"count":\d+\}$/gm) ?? []).length >= 3
    })
  }
  expect(opened.waiting()).toBe(1)
  for (const { close } of listeners) close()
  await until(() => opened.waiting() === 0)
})

test('no more may listen than it says; whoever leaves makes room', async () => {
  await using opened = await open({ maxListeners: 2 })
  const first = await opened.listen()
  const others = [await opened.listen(), await opened.listen()]
  expect(others.map(({ response }) => response.status)).toEqual([200, 503])
  expect(others[1]?.response.headers.get('retry-after')).toBe('5')
  first.close()
  await until(async () => {
    const { response, close } = await opened.listen()
    close()
    return response.status === 200
  })
})

test('who does not read is let go, so that nothing piles up', async () => {
  const large = 'x'.repeat(100_000)
  await using opened = await open({ read: () => large })
  const socket = connect(opened.port, '127.0.0.1')
  const ended = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  socket.write('GET /live HTTP/1.1\r\nhost: x\r\n\r\n')
  socket.pause()
  // What lies in the kernel's buffers is bounded, too.
  await until(() => opened.waiting() === 1)
  await until(() => opened.waiting() === 0, 60_000)
  socket.resume()
  await ended
})

test('its end is the end for who listens', async () => {
  await using opened = await open()
  const { response } = await opened.listen()
  opened.stream[Symbol.dispose]()
  await response.text()
  expect(opened.waiting()).toBe(0)
})
