import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SAMPLE_DELAY_MS } from '../src/api/console/delayed-documents.ts'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import type { WatchedPage } from './support/console-browser.ts'
import {
  ConsoleBrowser,
  chromiumPath,
  inaccessible,
  sidewaysScroll,
} from './support/console-browser.ts'
import type { Rig } from './support/service.ts'
import { marketCoins, startRig, untilSold } from './support/service.ts'

const FIRST_VIEW_BYTES_MAX = 100_000
const WIDTHS = [1440, 820, 390] as const
/** By every rule in one window, and by those that depend on theme and width in the opposite one. */
const EXAMINED = {
  dark: { width: 1440 },
  light: { width: 390, rules: ['color-contrast', 'scrollable-region-focusable'] },
} as const
/** It takes five seconds at most, and beside three other workers what they leave to a browser. */
const SAID_MS_MAX = 60_000
/** As the page asks for it. */
const PULSE = '/pulse/BTC?timeframes=15m,1h,4h'

describe.skipIf(chromiumPath === null)('the console in a browser', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig({ coins: marketCoins })
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, pulse.contract, 'BTC')
  })

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
  })

  /** A page whose panels have got their documents, of which the public ones begin a minute after a start. */
  async function opened(url: string, options = {}): Promise<WatchedPage> {
    const watched = await browser.open(url, options)
    await watched.page.locator('main h1').waitFor()
    await watched.page
      .locator('[aria-busy=true]')
      .first()
      .waitFor({ state: 'detached', timeout: 2 * SAMPLE_DELAY_MS })
    return watched
  }

  /** The addresses of the views that the navigation lists. */
  async function placesOf(url: string): Promise<readonly (string | null)[]> {
    const { page } = await opened(url)
    const places = await page
      .locator('nav a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    await page.context().close()
    return places
  }

  describe.each(['public', 'admin'] as const)('on the %s port', (port) => {
    const urlOf = () => (port === 'public' ? rig.url : rig.adminUrl)

    test('has no error, no foreign request, no barrier and no sideways scroll in any view', async () => {
      const places = await placesOf(urlOf())
      const operators = await placesOf(rig.adminUrl)
      expect(places.length, 'the navigation lists views').toBeGreaterThan(0)
      for (const place of places) {
        const { page: shown, faults } = await opened(`${urlOf()}/${place}`)
        // A view of both ports is examined once, on the operator's, where it has the most to show.
        const isExamined = port === 'admin' || !operators.includes(place)
        for (const colorScheme of ['dark', 'light'] as const) {
          await shown.emulateMedia({ colorScheme })
          for (const width of WIDTHS) {
            await shown.setViewportSize({ width, height: 1_000 })
            const where = `${place} at ${width} px, ${colorScheme}`
            // A chart is drawn in its new width a few frames later.
            await expect
              .poll(() => sidewaysScroll(shown), { message: where })
              .toBeLessThanOrEqual(0)
            const examined: { width: number; rules?: readonly string[] } = EXAMINED[colorScheme]
            if (isExamined && width === examined.width)
              expect(await inaccessible(shown, examined.rules), where).toEqual([])
          }
        }
        expect(faults, String(place)).toEqual([])
        await shown.context().close()
      }
    })
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

  test('shows the figures of the documents that a buyer gets', async () => {
    const { page } = await opened(`${rig.adminUrl}/#/coin/BTC`)
    const sold = new Map<string | undefined, number>()
    const query = new URLSearchParams({ document: PULSE })
    const events = await fetch(`${rig.adminUrl}/console/live?${query}`)
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader()
    const panel = page.locator(`[data-document="${PULSE}"]`).first()
    /** Both at one moment: a newer version may arrive at any time. */
    const shown = () =>
      panel.evaluate((element) => ({
        version: element.getAttribute('data-version') ?? undefined,
        price: element.querySelector('[data-path="price.current"] dd')?.textContent,
      }))
    let now = await shown()
    while (!sold.has(now.version)) {
      const { value = '' } = (await reader?.read()) ?? {}
      for (const [, data = ''] of value.matchAll(/^event: document\nid: .*\ndata: (.*)$/gm)) {
        const { version, answer } = JSON.parse(data)
        sold.set(version, answer.price.current)
      }
      now = await shown()
    }
    await reader?.cancel()
    expect(Number(now.price?.replaceAll(',', ''))).toBe(sold.get(now.version))
  })

  test('shows the record of the estimates to everyone', async () => {
    const { page } = await browser.open(`${rig.url}/#/proof`)
    const rows = page.locator('[aria-labelledby=record] tbody tr')
    // It is free, so it is not as late as the sample coin is.
    await rows.first().waitFor({ timeout: SAMPLE_DELAY_MS / 2 })
    expect((await rows.allTextContents()).join('\n')).toMatch(/not supported/i)
    await page.context().close()
  })

  test('soon says that the service has ended, and recovers when it is back', async () => {
    const { page, faults } = await opened(`${rig.adminUrl}/#/coin/BTC`)
    await rig.kill()
    const endedAtMs = performance.now()
    const notice = page.locator('.connection .notice')
    // The other tests need the service again, whatever this one finds.
    try {
      await notice.waitFor()
      expect(performance.now() - endedAtMs).toBeLessThan(SAID_MS_MAX)
      expect(await notice.textContent()).toContain('no longer updated')
    } finally {
      await rig.start()
    }
    await notice.waitFor({ state: 'detached' })
    // The browser reports every request of the outage; whatever a script reports is a fault.
    const isOfOutage = /ERR_|Failed to load resource|EventSource/
    expect(faults.filter((fault) => !isOfOutage.test(fault))).toEqual([])
  })

  test('soon says that the engine alone has ended, and recovers when it is back', async () => {
    const { page } = await opened(`${rig.adminUrl}/#/coin/BTC`)
    const notice = page.locator('.connection .notice')
    const panel = page.locator(`[data-document="${PULSE}"]`).first()
    const version = await panel.getAttribute('data-version')
    const killedAtMs = performance.now()
    // The engine's thread is terminated.
    const status = await page.evaluate(
      async () => (await fetch('/engine/restart', { method: 'POST' })).status,
    )
    expect(status).toBeLessThan(300)
    await notice.waitFor()
    expect(performance.now() - killedAtMs).toBeLessThan(SAID_MS_MAX)
    expect(await notice.textContent()).toContain('The analysis engine is not running')
    await notice.waitFor({ state: 'detached', timeout: 60_000 })
    await expect
      .poll(() => panel.getAttribute('data-version'), { timeout: 60_000 })
      .not.toBe(version)
    await page.context().close()
  })

  test('connects again after a proxy refused the stream, and reports no loss then', async () => {
    const { page } = await browser.open('about:blank')
    await page.route('**/console/live?*', (route) => route.fulfill({ status: 502 }), { times: 2 })
    await page.goto(`${rig.adminUrl}/#/coin/BTC`)
    await page.locator('[data-version]').first().waitFor()
    // Longer than the time after which a silent stream counts as lost.
    for (let seconds = 0; seconds < 7; seconds += 1) {
      await page.waitForTimeout(1_000)
      expect(await page.locator('.connection .notice').count()).toBe(0)
    }
    await page.context().close()
  })

  test('draws a chart whose code could not be loaded at first', async () => {
    const { page } = await browser.open('about:blank')
    await page.route(/candle-plot/, (route) => route.abort(), { times: 1 })
    await page.goto(`${rig.adminUrl}/#/coin/BTC`)
    await page.locator('.candle-plot canvas').first().waitFor()
    await page.context().close()
  })

  test('can be used by keyboard alone', async () => {
    const { page } = await opened(rig.adminUrl)
    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').textContent()).toContain('Skip')
    await page.locator('nav a', { hasText: 'Coin' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.coin-head').waitFor()
    await page.locator('.skip').focus()
    await page.keyboard.press('Enter')
    expect(await page.locator(':focus').getAttribute('id')).toBe('content')
    expect(await page.locator('.coin-head').count(), 'it stays at the coin').toBe(1)
    const term = page.locator('.term button').first()
    await term.focus()
    await page.getByRole('tooltip').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('tooltip').waitFor({ state: 'detached' })
  })
})
