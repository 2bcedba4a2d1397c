import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../platform/service.fixture.ts'
import { launchBrowser, openConsoleOf, openPage, startCallers, TOKEN } from './browser.fixture.ts'

let browser: Awaited<ReturnType<typeof launchBrowser>>
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

const number = (text: string | null) => Number((text ?? '').replaceAll(/[^\d.]/g, ''))

describe('the console in a real browser', () => {
  test('shows numbers that move, the policies in force, whom they refuse, the store and the rehearsal, and complains of nothing', async () => {
    await using limiter = await openConsoleOf()
    await using opened = await openPage(browser, limiter.url)
    const { page, complaints } = opened
    const decisions = () => page.locator('#decisions').textContent()
    await until(async () => (await page.locator('#connection').textContent()) === 'live')
    await until(async () => (await decisions()) === '0')
    {
      using _callers = startCallers(limiter)
      await until(async () => number(await decisions()) > 20)
      await until(async () => number(await page.locator('#refused').textContent()) > 5)
      const rows = page.locator('#policy-rows tr')
      expect(await rows.count()).toBe(5)
      const free = page.locator('tr[data-policy="free"]')
      expect(await free.textContent()).toContain('60, then 5 a second')
      await until(async () => number(await free.locator('.number').last().textContent()) > 1)
      await until(async () => (await page.locator('#offenders').textContent())?.includes('user:greedy') === true)
      await until(async () => /would refuse [1-9]/.test((await page.locator('#rehearsal').textContent()) ?? ''))
      expect(await page.locator('#rehearsal .diff .removed').first().textContent()).toContain('capacity: 20')
      expect(await page.locator('#store').textContent()).toContain('memory')
      expect(await page.locator('#conservation').textContent()).toBe('right')
      expect(await page.locator('#chart path.denied').getAttribute('d')).toMatch(/^M.*Z$/)
    }
    // Nobody asks any more.
    await until(async () => (await decisions()) === '0')
    await limiter.edit(limiter.live.replace('capacity: 60', 'capacity: 61'))
    await until(async () => (await page.locator('tr[data-policy="free"]').textContent())?.includes('61, then') === true)
    await limiter.edit(limiter.live.replace('capacity: 60', 'capacity: lots'))
    await until(() => page.locator('#warning').isVisible())
    expect(complaints).toEqual([])
  })

  test('looks at a bucket and fills it, by keyboard alone and only with the token', async () => {
    await using limiter = await openConsoleOf()
    await using opened = await openPage(browser, limiter.url)
    const { page } = opened
    for (let asked = 0; asked < 30; asked += 1) await limiter.ask({ client: 'user:a', plan: 'anonymous' })
    await until(async () => (await page.locator('select[name=domain] option').count()) > 0)
    const focused = (read: string) => page.evaluate(`document.activeElement?.${read}`)
    const tabTo = async (read: string, wanted: string) => {
      for (let pressed = 0; pressed < 40; pressed += 1) {
        if ((await focused(read)) === wanted) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`no Tab leads to ${wanted}`)
    }

    await tabTo('name', 'attributes')
    await page.keyboard.type('client=user:a\nplan=anonymous')
    await tabTo('textContent', 'Look')
    await page.keyboard.press('Enter')
    const answer = page.locator('#bucket-answer')
    await until(async () => (await answer.textContent())?.includes('of 20 left') === true)
    expect(number(/(\d+) of 20/.exec((await answer.textContent()) ?? '')?.[1] ?? null)).toBeLessThan(15)

    await tabTo('id', 'reset')
    await page.keyboard.press('Enter')
    expect(await focused('name')).toBe('token')
    await page.keyboard.type('a guess')
    await page.keyboard.press('Enter')
    await until(async () => (await page.locator('#token-problem').textContent())?.includes('not the token') === true)
    await page.keyboard.type(TOKEN)
    await page.keyboard.press('Enter')
    await until(async () => (await answer.textContent())?.includes('Full now: anonymous') === true)
    expect(await answer.textContent()).toContain('20 of 20 left')
    expect(await page.locator('#token-dialog').isVisible()).toBe(false)
    expect(await page.content()).not.toContain(TOKEN)
    await until(() => limiter.output().includes('"event":"bucket.reset"'))
    expect(limiter.output()).not.toContain(TOKEN)
  })

  test('a click on whom policies refuse shows the buckets; Escape leaves the question of a token', async () => {
    await using limiter = await openConsoleOf()
    await using opened = await openPage(browser, limiter.url)
    const { page, complaints } = opened
    for (let asked = 0; asked < 30; asked += 1) await limiter.ask({ client: 'user:b', plan: 'anonymous' })
    await page.getByRole('button', { name: 'user:b' }).click()
    expect(await page.locator('textarea').inputValue()).toBe('client=user:b')
    await page.locator('textarea').fill('client=user:b\nplan=anonymous')
    await page.getByRole('button', { name: 'Look' }).click()
    await until(async () => (await page.locator('#bucket-answer').textContent())?.includes('of 20 left') === true)
    await page.locator('#reset').click()
    await page.locator('input[name=token]').fill('half a tok')
    await page.keyboard.press('Escape')
    expect(await page.locator('#token-dialog').isVisible()).toBe(false)
    expect(await page.locator('input[name=token]').inputValue()).toBe('')
    expect(complaints).toEqual([])
  })

  test('without a token in the limiter nobody fills a bucket', async () => {
    await using limiter = await openConsoleOf({ withToken: false })
    await using opened = await openPage(browser, limiter.url)
    const { page } = opened
    await until(async () => (await page.locator('select[name=domain] option').count()) > 0)
    await page.locator('textarea').fill('client=a\nplan=free')
    await page.locator('#reset').click()
    await page.locator('input[name=token]').fill('undefined')
    await page.keyboard.press('Enter')
    await until(async () => (await page.locator('#token-problem').textContent())?.includes('switched off') === true)
  })

  test('says when the limiter has gone', async () => {
    await using limiter = await openConsoleOf()
    await using opened = await openPage(browser, limiter.url)
    const connection = opened.page.locator('#connection')
    await until(async () => (await connection.textContent()) === 'live')
    const { code } = await limiter.stop()
    expect(code).toBe(0)
    await until(async () => (await connection.getAttribute('data-state')) === 'lost')
  })

  test('a planted script runs neither inline nor from elsewhere: the policy that forbids it is in force', async () => {
    await using limiter = await openConsoleOf()
    await using opened = await openPage(browser, limiter.url)
    const { page, complaints } = opened
    const planted = `document.createElement('p').setAttribute('onclick', 'document.title = "planted"')`
    await expect(page.evaluate(planted)).rejects.toThrow('TrustedScript')
    await expect(page.evaluate(`document.body.innerHTML = '<b>planted</b>'`)).rejects.toThrow('TrustedHTML')
    // A file of elsewhere, and an inline style.
    await page.evaluate(`document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:1/x.png' }))`)
    await page.evaluate(`document.body.setAttribute('style', 'color: red')`)
    expect(await page.title()).toBe('Weir limiter')
    for (const directive of ['img-src', 'style-src']) await until(() => complaints.join().includes(directive))
    expect(complaints.join()).toContain('Content Security Policy')
    expect(await page.evaluate('getComputedStyle(document.body).color')).not.toBe('rgb(255, 0, 0)')
  })
})

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const

/** Where to leave the pictures; without it they are only looked at for what a program can see. */
const folder = process.env['WEIR_SCREENSHOTS']

test('nothing is wider than the page, on a desktop and on a phone, in light and in dark', async () => {
  await using limiter = await openConsoleOf()
  using _callers = startCallers(limiter)
  for (const [size, viewport] of Object.entries(sizes))
    for (const colorScheme of ['light', 'dark'] as const) {
      await using opened = await openPage(browser, limiter.url, { viewport, colorScheme })
      const { page, complaints } = opened
      await until(async () => number(await page.locator('#refused').textContent()) > 5)
      await until(async () => /would refuse [1-9]/.test((await page.locator('#rehearsal').textContent()) ?? ''))
      const width = await page.evaluate('document.documentElement.scrollWidth')
      expect(width).toBe(viewport.width)
      const background = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(12, 21, 24)' : 'rgb(238, 242, 243)')
      expect(complaints).toEqual([])
      if (folder === undefined) continue
      await page.locator('textarea').fill('client=user:greedy\nplan=free')
      await page.getByRole('button', { name: 'Look' }).click()
      await until(() => page.locator('.quota').first().isVisible())
      // The chart is worth looking at once it has a history.
      await until(
        async () => ((await page.locator('#chart path.allowed').getAttribute('d')) ?? '').split('L').length > 40,
        60_000,
      )
      await writeFile(join(folder, `console-${size}-${colorScheme}.png`), await page.screenshot({ fullPage: true }))
    }
}, 400_000)
