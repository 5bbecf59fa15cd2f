import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { screener } from '../src/compute/analyses/screener/screener.ts'
import { ConsoleBrowser, chromiumPath } from './support/console-browser.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilSold } from './support/service.ts'

const FIRST_VIEW_BYTES_MAX = 100_000

describe.skipIf(chromiumPath === null)('the views of the console', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig()
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, screener.contract, '')
  })

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
  })

  test.each(['public', 'admin'] as const)(
    'the first one of the %s port takes at most 100 kB compressed',
    async (port) => {
      const { page } = await browser.open(port === 'public' ? rig.url : rig.adminUrl)
      await page.locator('main h1').waitFor()
      const files = await page.evaluate<{ name: string; encodedBodySize: number }[]>(
        `['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type))
          .map(({ name, encodedBodySize }) => ({ name, encodedBodySize }))`,
      )
      const code = files.filter(({ name }) => /\/$|\.(js|css)$/.test(name))
      expect(code.length).toBeGreaterThan(2)
      expect(code.every(({ encodedBodySize }) => encodedBodySize > 0)).toBe(true)
      const bytes = code.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
      expect(bytes).toBeLessThan(FIRST_VIEW_BYTES_MAX)
    },
  )

  test('the screener sorts and filters, and the address keeps both', async () => {
    const { page } = await browser.open(`${rig.adminUrl}/#/market`)
    const table = page.getByRole('region', { name: 'Screener' })
    const names = () => table.locator('tbody tr :first-child a').allTextContents()
    await table.locator('tbody tr').first().waitFor()
    const all = await names()
    await table.getByRole('button', { name: 'Price' }).click()
    const sorted = table.locator('th[aria-sort]')
    await sorted.waitFor()
    expect(await sorted.textContent()).toContain('Price')
    await page.getByLabel('Coin', { exact: true }).fill('B')
    const filtered = all.filter((name) => name.toUpperCase().includes('B'))
    await expect.poll(async () => (await names()).toSorted()).toEqual(filtered.toSorted())
    const address = page.url()
    expect(address).toContain('coin=B')
    const again = await browser.open(address)
    await again.page.locator('tbody tr').first().waitFor()
    expect((await again.page.locator('th[aria-sort]').first().textContent()) ?? '').toContain(
      'Price',
    )
    await expect(await again.page.getByLabel('Coin', { exact: true }).inputValue()).toBe('B')
    await page.context().close()
    await again.page.context().close()
  })
})
