import { expect, test } from 'vitest'
import { startControl } from './control.ts'

const asked = async (url: string, method = 'GET') => {
  const answer = await fetch(url, { method, headers: { connection: 'close' } })
  return { status: answer.status, text: await answer.text() }
}

test('a fault is made when it is asked for, and its maker is waited for', async () => {
  const made: string[] = []
  await using control = await startControl({
    makeFault: async (fault) => {
      await Promise.resolve()
      made.push(fault)
      return 'all stand still'
    },
  })
  expect(await asked(`${control.url}/faults/store-away`, 'POST')).toEqual({ status: 200, text: 'all stand still' })
  expect(made).toEqual(['store-away'])
})

test('a fault that could not be made is an answer that says why', async () => {
  await using control = await startControl({ makeFault: () => Promise.reject(new Error('no primary holds a bucket')) })
  const answer = await asked(`${control.url}/faults/kill-primary`, 'POST')
  expect(answer).toEqual({ status: 500, text: 'Error: no primary holds a bucket' })
})

test('metrics are told where this side can look, and nothing else is', async () => {
  const pages = [{ name: 'limiter 0', text: 'weir_decisions_total 1' }]
  const makeFault = () => Promise.resolve('')
  await using control = await startControl({ makeFault, pages: () => Promise.resolve(pages) })
  expect(JSON.parse((await asked(`${control.url}/processes`)).text)).toEqual(pages)
  expect((await asked(`${control.url}/faults/store-away`)).status).toBe(404)
  await using blind = await startControl({ makeFault })
  expect((await asked(`${blind.url}/processes`)).status).toBe(404)
})
