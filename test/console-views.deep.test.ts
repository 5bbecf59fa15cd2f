import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { liquidations } from '../src/compute/analyses/liquidations/liquidations.ts'
import { screener } from '../src/compute/analyses/screener/screener.ts'
import type { Json } from './support/answers.ts'
import { ConsoleBrowser, chromiumPath } from './support/console-browser.ts'
import type { Rig } from './support/service.ts'
import { startRig, untilSold } from './support/service.ts'

type Mark = { readonly kind: string; readonly side: string; readonly price: number }

const FIRST_VIEW_BYTES_MAX = 100_000

describe.skipIf(chromiumPath === null)('the views of the console', () => {
  let rig: Rig
  let browser: ConsoleBrowser

  beforeAll(async () => {
    rig = await startRig()
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, liquidations.contract, 'BTC')
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

  test('the map of liquidations has every zone and cluster of the document at its price', async () => {
    const { page } = await browser.open(`${rig.adminUrl}/#/coin/BTC`)
    await page.locator('.liquidation-map svg').first().waitFor()
    const { drawn, coordinates, version } = await page.evaluate<{
      drawn: readonly Mark[]
      coordinates: readonly (number | null)[]
      version: string
    }>(`(() => {
      const chart = perpscopeCharts.get('liquidations')
      const marks = chart.marks()
      return {
        drawn: marks.map(({ kind, side, price }) => ({ kind, side, price })),
        coordinates: marks.map(({ price }) => chart.priceToCoordinate(price)),
        version: document.querySelector('[data-document^="/liquidations/"]').dataset.version,
      }
    })()`)
    const answer = await answerOf('/liquidations/BTC')
    const marked = (kind: 'zones' | 'clusters') =>
      (['longs', 'shorts'] as const).flatMap((side) =>
        answer[kind][side].map(
          ({ price }: Json): Mark => ({
            ...{ kind: kind.slice(0, -1), side: side.slice(0, -1), price },
          }),
        ),
      )
    const expected = [...marked('zones'), ...marked('clusters')]
    expect(expected.length).toBeGreaterThan(10)
    // The document may have changed since; then the prices of the tiers have moved a little.
    if (answer.version === version)
      expect(drawn.toSorted(byPlace)).toEqual(expected.toSorted(byPlace))
    else expect(drawn).toHaveLength(expected.length)
    expect(coordinates).not.toContain(null)
    const sorted = (coordinates as number[]).toSorted((one, other) => one - other)
    expect(coordinates, 'higher prices are further along the axis').toEqual(sorted)
    await page.context().close()
  })

  test('the chart of prices has the bars of the document', async () => {
    const { page } = await browser.open(`${rig.adminUrl}/#/coin/BTC`)
    await expect
      .poll(() => page.evaluate(`globalThis.perpscopeCharts?.get('candles')?.bars().length ?? 0`))
      .toBeGreaterThan(0)
    const drawn = await page.evaluate<{ closes: number[]; highAt: number; lowAt: number }>(`(() => {
      const chart = perpscopeCharts.get('candles')
      const closes = chart.bars().map(({ close }) => close)
      return {
        closes,
        highAt: chart.priceToCoordinate(Math.max(...closes)),
        lowAt: chart.priceToCoordinate(Math.min(...closes)),
      }
    })()`)
    const { bars } = await answerOf('/chart/BTC')
    // All but the forming bar.
    expect(drawn.closes.slice(0, -1)).toEqual(bars.close.slice(0, -1))
    expect(drawn.highAt, 'higher prices are further up').toBeLessThan(drawn.lowAt)
    await page.context().close()
  })

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

  /** The newest answer of the stream, with its version. */
  async function answerOf(name: string): Promise<Json> {
    const query = new URLSearchParams({ document: name })
    const events = await fetch(`${rig.adminUrl}/console/live?${query}`)
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let text = ''; ; ) {
      text += (await reader?.read())?.value ?? ''
      const [, data] = /^event: document\nid: .*\ndata: (.*)\n\n/m.exec(text) ?? []
      if (data === undefined) continue
      await reader?.cancel()
      const event = JSON.parse(data)
      return { ...event.answer, version: event.version }
    }
  }
})

function byPlace(one: Mark, other: Mark): number {
  return (
    one.price - other.price || `${one.kind}${one.side}`.localeCompare(`${other.kind}${other.side}`)
  )
}
