import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Answers } from '../src/client/answers.ts'
import { correlation } from '../src/compute/analyses/correlation/correlation.ts'
import { depeg } from '../src/compute/analyses/depeg/depeg.ts'
import { screener } from '../src/compute/analyses/screener/screener.ts'
import { plain, price, usd } from '../src/console/components/format.ts'
import { sectorMatrix } from '../src/console/views/market/matrix-order.ts'
import { pegPosition } from '../src/console/views/world/peg-scale.ts'
import { ConsoleBrowser, chromiumPath } from './support/console-browser.ts'
import { examineView, untilFilled } from './support/examined-view.ts'
import type { Rig } from './support/service.ts'
import { marketCoins, startRig, untilSold } from './support/service.ts'
import type { ShownPanel } from './support/shown-figures.ts'
import { shownPanels, wrongFigures } from './support/shown-figures.ts'
import { SoldAnswers } from './support/sold-answers.ts'

const OVERVIEW_PERIOD_MS = 60_000
const SCREENER = '/screener?view=all'

describe.skipIf(chromiumPath === null)('the market in a browser', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig({ coins: marketCoins })
    browser = await ConsoleBrowser.start()
    for (const { contract } of [screener, correlation, depeg])
      await untilSold(rig.url, contract, '')
  })

  afterEach(() => browser?.closePages())

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
  })

  async function opened(place: string): Promise<Page> {
    const { page } = await browser.open(`${rig.adminUrl}/#/${place}`)
    return page
  }

  /** A panel with a document, and what the buyers of the version that it shows get. */
  async function shownAndSold<Answer, Shown>(
    panel: Locator,
    read: () => Promise<Shown>,
  ): Promise<{ readonly shown: Shown; readonly sold: Answer }> {
    await panel.waitFor()
    const name = (await panel.getAttribute('data-document')) ?? ''
    const sold = await SoldAnswers.open(rig.adminUrl, [name])
    for (;;) {
      await sold.more()
      // What is read between two readings of the same version belongs to it.
      const before = await panel.getAttribute('data-version')
      const shown = await read()
      const answer = sold.of<Answer>(name, await panel.getAttribute('data-version'))
      if (answer !== undefined && answer === sold.of(name, before)) {
        await sold.close()
        return { shown, sold: answer }
      }
    }
  }

  test.each([
    ['market', 5, 15],
    ['coin/BTC', 9, 55],
    ['world', 3, 30],
  ])(
    'every figure of the view %s is that of the document at its version',
    async (place, panels, figuresMin) => {
      const page = await opened(place)
      await page
        .locator('[data-document][data-version]')
        .nth(panels - 1)
        .waitFor()
      const names = new Set((await shownPanels(page)).map(({ name }) => name))
      const sold = await SoldAnswers.open(rig.adminUrl, names)
      const compared = new Map<number, ShownPanel>()
      while (compared.size < panels) {
        await sold.more()
        for (const [at, panel] of (await shownPanels(page)).entries()) {
          const answer = sold.of<Readonly<Record<string, unknown>>>(panel.name, panel.version)
          if (answer === undefined) continue
          expect(wrongFigures(panel, answer), panel.name).toEqual([])
          compared.set(at, panel)
        }
      }
      await sold.close()
      const figures = [...compared.values()].flatMap((panel) => panel.figures)
      expect(figures.length).toBeGreaterThanOrEqual(figuresMin)
    },
  )

  const table = (page: Page) => page.getByRole('region', { name: 'Rows of the screener' })
  const coinsIn = (page: Page) => table(page).locator('tbody th').allTextContents()
  const head = (page: Page, title: string) =>
    table(page).getByRole('button', { name: title, exact: true })

  test('a row of the screener has the figures of its coin in the document', async () => {
    const page = await opened('market')
    const panel = page.locator(`[data-document="${SCREENER}"]`, { has: page.locator('table.data') })
    const heads = panel.locator('thead th')
    // Coins follow each other into a table that has been sold before.
    await panel.locator('tbody tr').nth(19).waitFor()
    const { shown, sold } = await shownAndSold<Answers['screener'], readonly string[][]>(
      panel,
      async () => {
        const volumeAt = (await heads.allTextContents()).indexOf('Volume')
        const cells = (at: number) => panel.locator(`tbody tr > :nth-child(${at + 1})`)
        const columns = await Promise.all([0, 1, volumeAt].map((at) => cells(at).allTextContents()))
        return (columns[0] ?? []).map((_, row) => columns.map((texts) => texts[row] ?? ''))
      },
    )
    const expected = sold.coins.map((row) => [
      row.coin,
      price(row.price),
      'volume_24h_usd' in row ? usd(row.volume_24h_usd) : '',
    ])
    expect(shown.length).toBeGreaterThanOrEqual(20)
    expect(shown.slice(0, expected.length)).toEqual(expected)
  })

  test('a press on a header sorts, and the address keeps it over a reload', async () => {
    const page = await opened('market')
    await head(page, 'Price').click()
    await page.waitForURL(/#\/market\?sort=-price$/)
    const sorted = table(page).locator('th[aria-sort]')
    expect(await sorted.getAttribute('aria-sort')).toBe('descending')
    const pricesIn = async () =>
      (await table(page).locator('tbody td:nth-child(2)').allTextContents()).map((text) =>
        Number(text.replaceAll(',', '')),
      )
    const falling = await pricesIn()
    expect(falling).toEqual([...falling].sort((one, other) => other - one))
    await page.reload()
    await sorted.waitFor()
    expect((await coinsIn(page))[0]).toBe('BTC')
    await head(page, 'Price').click()
    expect(await sorted.getAttribute('aria-sort')).toBe('ascending')
    await head(page, 'Price').click()
    await page.waitForURL(/#\/market$/)
  })

  test('the keyboard sorts, and a header shows its definition', async () => {
    const page = await opened('market')
    await head(page, 'RSI').focus()
    expect(await page.getByRole('tooltip').textContent()).toContain('Wilder RSI')
    await page.keyboard.press('Enter')
    await page.waitForURL(/sort=-rsi$/)
  })

  test('filters narrow the rows, and the address keeps them over a reload', async () => {
    const page = await opened('market')
    await page.getByLabel('Sector').selectOption('L1')
    await page.getByRole('searchbox', { name: 'Coin' }).fill('et')
    await page.waitForURL(/#\/market\?sector=L1&coin=et$/)
    // Coins follow each other into a table that has been sold before.
    await expect.poll(() => coinsIn(page)).toContain('ETH')
    const narrowed = await coinsIn(page)
    for (const coin of narrowed) expect(coin.toLowerCase()).toContain('et')
    await page.reload()
    await table(page).waitFor()
    expect((await coinsIn(page)).toSorted()).toEqual(narrowed.toSorted())
    await page.getByLabel('Sector').selectOption('L2')
    await page.getByText('No coin passes these filters.').waitFor()
  })

  test('a coin leads to its page', async () => {
    const page = await opened('market')
    await table(page).getByRole('link', { name: 'ETH', exact: true }).click()
    await page.waitForURL(/#\/coin\/ETH$/)
  })

  test('the matrix has the pairs of the document, sectors next to each other', async () => {
    const page = await opened('market')
    const panel = page.locator('[data-document="/correlation"]')
    const { shown, sold } = await shownAndSold<Answers['correlation'], readonly string[]>(
      panel,
      () => panel.locator('table.matrix tbody tr > *').allTextContents(),
    )
    const { coins, values } = sectorMatrix(sold.matrix)
    expect(shown).toEqual(
      coins.flatMap((coin, at) => [
        coin,
        ...(values[at] ?? []).map((r, column) => (column === at ? '–' : plain(r))),
      ]),
    )
  })

  test('the peg is drawn at its place between the levels', async () => {
    const page = await opened('world')
    const panel = page.locator('[data-document="/depeg"]')
    const boxOf = (part: string) => panel.locator(part).boundingBox()
    const { shown, sold } = await shownAndSold<Answers['depeg'], number>(panel, async () => {
      const [band, value] = [await boxOf('.band-parts'), await boxOf('.band-value')]
      if (band === null || value === null) throw new Error('the band is not drawn')
      return (value.x + value.width / 2 - band.x) / band.width
    })
    expect(shown).toBeCloseTo(pegPosition(sold.deviation_adjusted_bps), 3)
  })

  test('the funding map has a row for each of its coins, the largest mean first', async () => {
    const page = await opened('market')
    const panel = page.locator('[data-document="/overview"]')
    // It is made every minute, and its first version may be older than the settled rates.
    await panel.locator('canvas').waitFor({ timeout: 2 * OVERVIEW_PERIOD_MS })
    await panel.getByText('Table of').click()
    const rows = panel.locator('tbody tr')
    // Histories arrive coin by coin.
    await expect
      .poll(() => rows.count(), { timeout: 2 * OVERVIEW_PERIOD_MS })
      .toBeGreaterThanOrEqual(2)
    const texts = await rows.allInnerTexts()
    const means = texts.map((row) => {
      const rates = row.split('\t').slice(1).map(Number.parseFloat)
      const known = rates.filter((rate) => !Number.isNaN(rate))
      return Math.abs(known.reduce((sum, rate) => sum + rate, 0) / known.length)
    })
    // The table has three decimals.
    for (const [at, mean] of means.slice(1).entries())
      expect(mean).toBeLessThanOrEqual((means[at] ?? 0) + 0.001)
  })

  test.each([
    ['market', '[data-document="/overview"] canvas'],
    ['world', '.band-value'],
  ])(
    'the view %s has no error, no foreign request, no barrier and no sideways scroll',
    async (place, drawnLast) => {
      const { page, faults } = await browser.open(`${rig.adminUrl}/#/${place}`)
      await untilFilled(page)
      await page.locator(drawnLast).first().waitFor()
      await examineView(page, place, { isForBarriers: true })
      expect(faults).toEqual([])
    },
  )
})
