import type { Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SAMPLE_DELAY_MS } from '../src/api/console/delayed-documents.ts'
import type { Answers } from '../src/client/answers.ts'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { percent, plain, word } from '../src/console/components/format.ts'
import type { ConsoleFacts } from '../src/domain/console-protocol.ts'
import type { PageOptions, WatchedPage } from './support/console-browser.ts'
import { ConsoleBrowser, chromiumPath } from './support/console-browser.ts'
import { examineView, untilFilled } from './support/examined-view.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilSold } from './support/service.ts'
import { SoldAnswers } from './support/sold-answers.ts'

const HOUR_MS = 3_600_000
const NARROW_PX = 390
const FIRST_VIEW_BYTES_MAX = 100_000
/** What the page allows a stream that is silent, by its own clock, and half a second in which it looks. */
const LOST_MS_MAX = 5_500
/** Half a minute, after which live figures are old. */
const OLD_MS_MAX = 30_000
/** Of the page's time between two events: less than that. */
const STEP_MS = 2_000
/** The engine's state is sent at once, and beside three other workers a page has what they leave to it. */
const SAID_MS_MAX = 60_000
/** As the page asks for it. */
const PULSE = '/pulse/BTC?timeframes=15m,1h,4h'
/** On the operator's port they have most to show in a larger market: `console-market` examines them there. */
const OF_THE_MARKET: readonly string[] = ['#/market', '#/world']

describe.skipIf(chromiumPath === null)('the console in a browser', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig()
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, pulse.contract, 'BTC')
  })

  afterEach(() => browser?.closePages())

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
  })

  /** A page whose panels have got their documents. */
  async function opened(url: string, options: PageOptions = {}): Promise<WatchedPage> {
    const watched = await browser.open(url, options)
    await untilFilled(watched.page)
    return watched
  }

  /** The addresses of the views that the navigation lists. */
  async function placesOf(url: string): Promise<readonly string[]> {
    const { page } = await browser.open(url)
    await page.locator('main h1').waitFor()
    const places = await page
      .locator('nav a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    await page.close()
    expect(places.length, 'the navigation lists views').toBeGreaterThan(0)
    return places
  }

  test('has no error, no foreign request, no barrier and no sideways scroll in any view', async () => {
    const operators = await placesOf(rig.adminUrl)
    const visitors = await placesOf(rig.url)
    expect(operators).toEqual(expect.arrayContaining([...OF_THE_MARKET]))
    const views = [
      ...operators
        .filter((place) => !OF_THE_MARKET.includes(place))
        .map((place) => ({ address: `${rig.adminUrl}/${place}`, isForBarriers: true })),
      // A view of both ports is examined once, on the operator's, where it has the most to show.
      ...visitors
        .map((place) => ({
          address: `${rig.url}/${place}`,
          isForBarriers: !operators.includes(place),
        }))
        // The one that begins a minute after the start comes last.
        .sort((one, other) => Number(isOfCoin(one)) - Number(isOfCoin(other))),
    ]
    for (const { address, isForBarriers } of views) {
      const { page, faults } = await opened(address)
      await examineView(page, address, { isForBarriers })
      expect(faults, address).toEqual([])
      await page.close()
    }
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
    const sold = await SoldAnswers.open(rig.adminUrl, [PULSE])
    const panel = page.locator(`[data-document="${PULSE}"]`).first()
    /** Both at one moment: a newer version may arrive at any time. */
    const shown = () =>
      panel.evaluate((element) => ({
        version: element.getAttribute('data-version'),
        price: element.querySelector('[data-path="price.current"] dd')?.textContent,
      }))
    const answer = () => sold.of<Answers['pulse']>(PULSE, now.version)
    let now = await shown()
    while (answer() === undefined) {
      await sold.more()
      now = await shown()
    }
    await sold.close()
    expect(Number(now.price?.replaceAll(',', ''))).toBe(answer()?.price.current)
  })

  test('shows the record of the estimates to everyone', async () => {
    const { page } = await browser.open(`${rig.url}/#/proof`)
    const rows = page.locator('[aria-labelledby=record] tbody tr')
    // It is free, so it is not as late as the sample coin is.
    await rows.first().waitFor({ timeout: SAMPLE_DELAY_MS / 2 })
    expect((await rows.allTextContents()).join('\n')).toMatch(/not supported/i)
  })

  test('soon says that the service has ended, and recovers when it is back', async () => {
    const { page, faults } = await opened(`${rig.adminUrl}/#/coin/BTC`, { hasOwnTime: true })
    const notice = page.locator('.connection .notice')
    const shown = page.locator('.panel .freshness')
    const old = page.locator('.panel .freshness.old')
    // After it, nothing that was sent before is underway to the page.
    const streamEnd = () =>
      page.waitForEvent('requestfailed', (request) =>
        request.url().startsWith(`${rig.adminUrl}/console/live?`),
      )
    // The other tests need the service again, whatever this one finds.
    try {
      await Promise.all([streamEnd(), rig.kill()])
      await page.clock.runFor(LOST_MS_MAX)
      expect(await notice.allTextContents()).toEqual([expect.stringContaining('no longer updated')])
      await page.clock.runFor(OLD_MS_MAX)
      // All but the candles, which are made once a minute.
      expect(await old.count()).toBeGreaterThanOrEqual((await shown.count()) - 1)
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
    // The engine's thread is terminated.
    const status = await page.evaluate(
      async () => (await fetch('/engine/restart', { method: 'POST' })).status,
    )
    expect(status).toBeLessThan(300)
    // Another notice may come before it.
    const ofEngine = notice.filter({ hasText: 'The analysis engine is not running' })
    await ofEngine.waitFor({ timeout: SAID_MS_MAX })
    await notice.waitFor({ state: 'detached', timeout: 60_000 })
    await expect
      .poll(() => panel.getAttribute('data-version'), { timeout: 60_000 })
      .not.toBe(version)
  })

  test('connects again after a proxy refused the stream, and reports no loss then', async () => {
    const { page } = await browser.open('about:blank', { hasOwnTime: true })
    // Its time passes only as the test lets it. Else it would lose the stream of a machine that is busy for seconds.
    await page.clock.pauseAt(Date.now() + HOUR_MS)
    let refusals = 0
    await page.route(
      '**/console/live?*',
      (route) => {
        refusals += 1
        return route.fulfill({ status: 502 })
      },
      { times: 2 },
    )
    await page.goto(`${rig.adminUrl}/#/coin/BTC`)
    const versions = async () => {
      const panels = await page.locator(`[data-document="${PULSE}"][data-version]`).all()
      return Promise.all(panels.map((panel) => panel.getAttribute('data-version')))
    }
    const passes = (ms: number) => page.clock.runFor(ms)
    await expect.poll(() => passes(100).then(versions), { timeout: SAID_MS_MAX }).not.toEqual([])
    expect(refusals).toBe(2)
    // By the clock of the page for longer than the time after which a silent stream counts as lost.
    for (let passedMs = 0; passedMs <= LOST_MS_MAX; passedMs += STEP_MS) {
      const before = await versions()
      await expect.poll(versions, { timeout: SAID_MS_MAX }).not.toEqual(before)
      await passes(STEP_MS)
      expect(await page.locator('.connection .notice').count()).toBe(0)
    }
  })

  test('draws a chart whose code could not be loaded at first', async () => {
    const { page } = await browser.open('about:blank')
    let failures = 0
    const fail = (route: Route) => {
      failures += 1
      return route.abort()
    }
    await page.route(/candle-plot/, fail, { times: 1 })
    await page.goto(`${rig.adminUrl}/#/coin/BTC`)
    await page.locator('.candle-plot canvas').first().waitFor()
    expect(failures).toBe(1)
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

  test('shows a definition after a tap, within the narrowest window, until the next tap elsewhere', async () => {
    const { page } = await opened(`${rig.adminUrl}/#/coin/BTC`, { width: NARROW_PX })
    const definitions = await read<Definitions>(`${rig.adminUrl}/console/definitions.json`)
    const [last] = (
      await page.locator('[data-path="derivatives.open_interest"] button').all()
    ).slice(-1)
    await last?.tap()
    const tooltip = page.getByRole('tooltip')
    expect(await tooltip.textContent()).toBe(definitions['pulse']?.['derivatives.open_interest'])
    const { x = Number.NaN, width = Number.NaN } = (await tooltip.boundingBox()) ?? {}
    expect(x).toBeGreaterThanOrEqual(0)
    expect(x + width).toBeLessThanOrEqual(NARROW_PX)
    await page.locator('h1').tap()
    await tooltip.waitFor({ state: 'detached' })
  })

  test('states for every offer its price, and its quality now', async () => {
    const { page } = await browser.open(rig.url)
    const { offers } = await read<ConsoleFacts>(`${rig.url}/console/service.json`)
    const cards = page.locator('.offer')
    await cards.first().waitFor()
    expect(await cards.locator('h3').allTextContents()).toEqual(offers.map(({ path }) => path))
    expect(await cards.locator('.offer-price').allTextContents()).toEqual(
      offers.map(({ priceUsdc }) => `${priceUsdc} USDC`),
    )
    const quality = cards.locator('.freshness')
    // The page asks for them every ten seconds, and a busy machine may have no answer for a while.
    const first = /^Grade [A-D][\d.]+ s old\d+ % of inputs$/
    const other = /^(Grade [A-D]|no answer now)/
    await expect
      .poll(() => quality.allTextContents(), { timeout: SAID_MS_MAX })
      .toEqual(offers.map((_, at) => expect.stringMatching(at === 0 ? first : other)))
  })

  test('shows the examples of what it sells about the world', async () => {
    const { page } = await opened(`${rig.url}/#/world`)
    const arb = await read<Answers['arb']>(`${rig.url}/sample/arb`)
    const { sentiment } = await read<Answers['sentiment']>(`${rig.url}/sample/sentiment`)
    const heads = (label: string) =>
      page.getByRole('region', { name: label, exact: true }).locator('tbody tr > *')
    const chains = await heads('Chains').allTextContents()
    for (const [at, { chain, status }] of arb.chains.entries())
      expect(chains.slice(5 * at, 5 * at + 2)).toEqual([chain, status])
    const sources = await heads('Sources of sentiment').allTextContents()
    for (const [at, { name, score, weight }] of sentiment.components.entries()) {
      const [title, shownScore, , shownWeight] = sources.slice(5 * at, 5 * at + 5)
      expect([title, shownScore]).toEqual([word(name), plain(score)])
      expect(shownWeight).toBe(percent(100 * weight, 0))
    }
  })
})

type Definitions = Readonly<Record<string, Readonly<Record<string, string>>>>

async function read<Body>(url: string): Promise<Body> {
  return (await fetch(url)).json() as Promise<Body>
}

/** Of the view of a coin. */
function isOfCoin({ address }: { readonly address: string }): boolean {
  return address.includes('#/coin')
}
