import { expect, test } from 'vitest'
import { type Check, domainName } from '../contract/check.ts'
import { systemTimers } from '../seams/timers.ts'
import { createGrpcTransport } from './grpc-transport.ts'
import { allow, openScriptedLimiter } from './scripted-limiter.fixture.ts'
import { followTargets } from './targets.ts'

/** A name whose addresses the test changes, and a timer that the test lets expire. */
const openName = (first: readonly string[]) => {
  let addresses = first
  let expire = () => {}
  const lookedUp: string[] = []
  return {
    names: {
      resolve: async (host: string) => {
        lookedUp.push(host)
        return addresses
      },
    },
    timers: {
      ...systemTimers,
      after: (_delayMs: number, callback: () => void) => {
        expire = callback
        return () => {
          expire = () => {}
        }
      },
    },
    lookedUp,
    standFor: async (...next: readonly string[]) => {
      addresses = next
      expire()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const follow = async (address: string, name: ReturnType<typeof openName>) => {
  const told: string[] = []
  const targets = followTargets({ ...name, address, onTarget: (target) => told.push(target) })
  await targets.ready
  return { told, targets }
}

test.each(['127.0.0.1:50051', 'limiter:50051', 'unix:/run/weir.sock'])(
  '%s is connected to as it is',
  async (address) => {
    const name = openName([])
    expect((await follow(address, name)).told).toEqual([address])
    expect(name.lookedUp).toEqual([])
  },
)

test('a name stands for all its addresses; only a change of them is told, and one that is lost keeps the last', async () => {
  const name = openName(['10.0.0.2', '10.0.0.1'])
  const { told, targets } = await follow('dns:///limiter.weir:50051', name)
  await name.standFor('10.0.0.1', '10.0.0.2')
  await name.standFor()
  await name.standFor('10.0.0.3', '10.0.0.1')
  await name.standFor('fd00::2', 'fd00::1')
  expect(told).toEqual([
    'ipv4:10.0.0.1:50051,10.0.0.2:50051',
    'ipv4:10.0.0.1:50051,10.0.0.3:50051',
    'ipv6:[fd00::1]:50051,[fd00::2]:50051',
  ])
  targets[Symbol.dispose]()
  await name.standFor('10.0.0.9')
  expect(told).toHaveLength(3)
  expect(name.lookedUp).toEqual(Array(5).fill('limiter.weir'))
})

const check: Check = { domain: domainName('api'), attributes: new Map([['client', 'a']]), cost: 1 }

test('a limiter that joins a name is asked without a failed check, and one that has left it no more', async () => {
  await using one = await openScriptedLimiter(() => allow, '127.0.0.1:0')
  await using other = await openScriptedLimiter(() => allow, `127.0.0.2:${one.port}`)
  const name = openName(['127.0.0.1'])
  await using transport = createGrpcTransport({
    address: `dns:///limiter.weir:${one.port}`,
    names: name.names,
    timers: name.timers,
  })
  const ask = async (times: number) => {
    for (let index = 0; index < times; index += 1) expect(await transport.ask(check, 1_000)).toMatchObject({ ok: true })
    return [one.state.asked, other.state.asked]
  }
  expect(await ask(10)).toEqual([10, 0])
  await name.standFor('127.0.0.1', '127.0.0.2')
  const [, joined = 0] = await ask(20)
  expect(joined).toBeGreaterThan(5)
  await name.standFor('127.0.0.2')
  await ask(1)
  const before = one.state.asked
  await ask(20)
  expect(one.state.asked).toBe(before)
})

test('a name that stands for nobody is a failure at once, and is used when somebody comes', async () => {
  await using limiter = await openScriptedLimiter(() => allow)
  const name = openName([])
  await using transport = createGrpcTransport({
    address: `dns:///limiter.weir:${limiter.port}`,
    names: name.names,
    timers: name.timers,
  })
  expect(await transport.ask(check, 50)).toMatchObject({
    ok: false,
    failure: 'unavailable',
    detail: expect.stringContaining('stands for nobody'),
  })
  await name.standFor('127.0.0.1')
  expect(await transport.ask(check, 1_000)).toMatchObject({ ok: true })
})
