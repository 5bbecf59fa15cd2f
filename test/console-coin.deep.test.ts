import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import samples from '../src/api/discovery/samples.json' with { type: 'json' }
import { liquidations } from '../src/compute/analyses/liquidations/liquidations.ts'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { bps, clockTime, count, signedBps, usd, word } from '../src/console/components/format.ts'
import { documentName } from '../src/console/views/coin/coin-documents.ts'
import { ConsoleBrowser, chromiumPath } from './support/console-browser.ts'
import { scriptStream } from './support/scripted-stream.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, startRig, untilSold } from './support/service.ts'
import { SoldAnswers } from './support/sold-answers.ts'

const BTC_AND_ETH = ['--coins', '2']
const LIQUIDATIONS = '/liquidations/BTC'
const PULSE = '/pulse/BTC?timeframes=15m,1h,4h'
const INDICATORS = ['ema_20', 'ema_50', 'ema_200', 'rsi_14'] as const

describe.skipIf(chromiumPath === null)('the view of a coin in a browser', () => {
  let rig: Rig
  let browser: ConsoleBrowser
  let page: Page
  let faults: readonly string[]

  beforeAll(async () => {
    rig = await startRig({ coins: BTC_AND_ETH, flags: mainMarketOnly })
    browser = await ConsoleBrowser.start()
    await untilSold(rig.url, pulse.contract, 'BTC')
    await untilSold(rig.url, liquidations.contract, 'BTC')
    const opened = await browser.open(`${rig.adminUrl}/#/coin/BTC?liquidations=all`)
    page = opened.page
    faults = opened.faults
    for (const name of ['candles', 'liquidations'])
      await vi.waitFor(async () => expect(await marksOf(page, name)).toBeGreaterThan(0), 60_000)
  })

  afterAll(async () => {
    await browser?.close()
    await rig?.close()
    expect(faults).toEqual([])
  })

  /** A page in front of the other one, which draws nothing until this one is closed. */
  async function openForTest(url: string) {
    const opened = await browser.open(url)
    onTestFinished(() => opened.page.close())
    return opened
  }

  test('draws every zone and cluster at its price on the map', async () => {
    const shown = page.locator(`[data-document="${LIQUIDATIONS}"]`).first()
    const sold = await SoldAnswers.open(rig.adminUrl, [LIQUIDATIONS])
    let answer: Liquidations | undefined
    let drawn: readonly { readonly kind: string; readonly price: number }[] = []
    while (answer === undefined) {
      await sold.more()
      // Both at one moment: a newer version may arrive at any time.
      const [version, marks] = await shown.evaluate(
        (element) =>
          [
            element.getAttribute('data-version'),
            [...element.querySelectorAll('[data-price]')].map((mark) => ({
              kind: mark.getAttribute('data-kind') ?? '',
              price: Number(mark.getAttribute('data-price')),
            })),
          ] as const,
      )
      answer = sold.of<Liquidations>(LIQUIDATIONS, version)
      drawn = marks
    }
    await sold.close()
    const of = (kind: string, { longs, shorts }: Sides) =>
      [...longs, ...shorts].map(({ price }) => ({ kind, price }))
    const expected = [...of('zone', answer.zones), ...of('cluster', answer.clusters)]
    const byPrice = (one: { price: number }, other: { price: number }) => one.price - other.price
    expect(drawn.toSorted(byPrice).map(({ price }) => price)).toEqual(
      expected.toSorted(byPrice).map(({ price }) => price),
    )
    expect(drawn.filter(({ kind }) => kind === 'zone')).toHaveLength(10)
  })

  test('draws the same prices over the candles, higher ones higher, and farther right on the map', async () => {
    const places = await page.evaluate<Places>(`(async () => {
        await ${drawnVersion(LIQUIDATIONS)}
        const [candles, map] = ['candles', 'liquidations'].map((name) => perpscopeCharts.get(name))
        const [overlaid, prices] = [candles, map].map((chart) =>
          chart.marks().map(({ price }) => price),
        )
        const drawn = [...document.querySelectorAll('.liquidation-map [data-price]')]
        return {
          overlaid,
          prices,
          candles: candles.marks().map(({ price }) => candles.priceToCoordinate(price)),
          map: prices.map((price) => map.priceToCoordinate(price)),
          drawn: drawn.map((mark) => mark.transform.baseVal[0].matrix.e),
          height: document.querySelector('.candle-plot').clientHeight,
          width: document.querySelector('.liquidation-map svg').clientWidth,
        }
      })()`)
    const { height, width } = places
    expect(places.candles.length).toBeGreaterThan(10)
    expect(places.overlaid).toEqual(places.prices)
    expect(places.candles).toEqual(places.candles.toSorted((one, other) => other - one))
    for (const place of places.candles) expect(place).toBeLessThan(height)
    for (const place of places.candles) expect(place).toBeGreaterThan(0)
    expect(places.map).toEqual(places.map.toSorted((one, other) => one - other))
    for (const place of places.map) expect(place).toBeLessThan(width)
    expect(places.drawn.map(Math.round)).toEqual(places.map.map(Math.round))
  })

  test('shows the indicators of the pulse in the legend, and its price in the forming bar', async () => {
    const sold = await SoldAnswers.open(rig.adminUrl, [PULSE])
    let isCompared = false
    while (!isCompared) {
      await sold.more()
      const { version, legend, close } = await page.evaluate<Shown>(`(async () => {
        return {
          version: await ${drawnVersion(PULSE)},
          legend: Object.fromEntries(
            [...document.querySelectorAll('[data-indicator]')].map(({ dataset }) => [
              dataset.indicator,
              Number(dataset.value),
            ]),
          ),
          close: perpscopeCharts.get('candles').bars().at(-1).close,
        }
      })()`)
      const answer = sold.of<PulseAnswer>(PULSE, version)
      if (answer === undefined) continue
      const { indicators } = answer.timeframes['1h']
      for (const name of INDICATORS) expect(legend[name], name).toBe(indicators[name])
      expect(legend['bollinger_upper']).toBe(indicators.bollinger.upper)
      expect(legend['bollinger_lower']).toBe(indicators.bollinger.lower)
      expect(close).toBe(answer.price.current)
      isCompared = true
    }
    await sold.close()
  })

  describe('the map of liquidation prices by the arrow keys', () => {
    const name = documentName('liquidations', 'BTC')
    const { liquidations: answer } = samples
    const reading = async () => {
      const { page: scripted } = await openForTest('about:blank')
      const publish = await scriptStream(scripted, new Map([[name, answer]]))
      await scripted.goto(`${rig.adminUrl}/#/coin/BTC?liquidations=all`)
      await scripted.locator('.liquidation-map [role=img]').focus()
      const readout = scripted.locator('.liquidation-map .readout')
      return { scripted, publish, read: () => readout.textContent() }
    }

    test('reads the nearest price above, then the ones below', async () => {
      const { scripted, read } = await reading()
      await scripted.keyboard.press('ArrowRight')
      await expect.poll(read).toMatch(/short.* above the price: /)
      await scripted.keyboard.press('ArrowLeft')
      await scripted.keyboard.press('ArrowLeft')
      await expect.poll(read).toMatch(/long.* below the price: /)
    })

    test('keeps to its price when a newer answer has fewer of them', async () => {
      const { scripted, publish, read } = await reading()
      await scripted.keyboard.press('ArrowRight')
      await expect.poll(read).toMatch(/short/)
      const chosen = await read()
      publish(name, { ...answer, clusters: { ...answer.clusters, longs: [] } })
      await scripted.locator(`[data-document="${name}"][data-version="scripted-2"]`).waitFor()
      expect(await read()).toBe(chosen)
    })
  })

  test('reads a point of a line chart out by the arrow keys', async () => {
    const picture = page.getByRole('img', { name: /^Chart: cost of buying/ })
    const chart = page.locator('figure', { has: picture })
    await chart.locator('canvas').waitFor()
    const read = chart.locator('[aria-live=polite]')
    expect(await read.textContent()).toBe('')
    await picture.focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => read.textContent()).toMatch(/^\$[\d.]+[KM]?, buy [\d.]+ bps, sell /)
  })

  test('draws positioning, costs, funding and gaps of the documents', async () => {
    const { page: scripted } = await openForTest('about:blank')
    const shown = ['spread', 'funding', 'oi', 'basis', 'cex-dex'] as const
    await scriptStream(
      scripted,
      new Map(shown.map((id) => [documentName(id, 'BTC'), samples[id]] as const)),
    )
    await scripted.goto(`${rig.adminUrl}/#/coin/BTC`)
    const panelOf = (id: (typeof shown)[number]) =>
      scripted.locator(`[data-document="${documentName(id, 'BTC')}"]`)
    /** The values of the chart of a panel, as its table has them. */
    const drawn = async (id: (typeof shown)[number]) => {
      const table = panelOf(id).locator('.chart-table')
      await table.locator('summary').click()
      await table.locator('tbody tr').first().waitFor()
      const rows = await table.locator('tbody tr').all()
      return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()))
    }
    const dotsOf = async (id: (typeof shown)[number]) => {
      const dots = await panelOf(id).locator('.dot-plot .dot').all()
      return Promise.all(dots.map((dot) => dot.getAttribute('data-value')))
    }
    const { spread, funding, oi, basis } = samples

    const marked = panelOf('oi').locator('.quadrant [aria-current]')
    await marked.waitFor()
    expect(await marked.allTextContents()).toEqual([word(oi.oi.positioning)])
    expect(await drawn('oi')).toEqual(
      oi.oi.history.map(({ timestamp_iso, current }) => [
        clockTime(Date.parse(timestamp_iso)),
        count(current),
      ]),
    )
    expect(await drawn('spread')).toEqual(
      spread.spread.slippage.map(({ notional_usd, buy_bps, sell_bps }) => [
        ...[usd(notional_usd), bps(buy_bps), bps(sell_bps)],
      ]),
    )
    const { p10_rate, p90_rate } = funding.funding.windows['30d']
    const shownRate = (rate: number) => signedBps(1e4 * rate, 3)
    expect(await drawn('funding')).toEqual(
      funding.funding.history.map(({ timestamp_iso, rate }) => [
        clockTime(Date.parse(timestamp_iso)),
        ...(rate < 0 ? ['–', shownRate(rate)] : [shownRate(rate), '–']),
        ...[p90_rate, p10_rate].map(shownRate),
      ]),
    )
    expect((await dotsOf('basis')).map(Number)).toEqual(
      basis.basis.oracle_networks.map(({ basis_bps }) => basis_bps),
    )
    const { exchanges, onchain, oracle_networks } = samples['cex-dex']
    expect(await dotsOf('cex-dex')).toHaveLength(
      exchanges.venues.length + 2 + onchain.length + oracle_networks.length,
    )
  })

  test('opens another coin by the keyboard', async () => {
    const other = await openForTest(`${rig.adminUrl}/#/coin/BTC`)
    const field = other.page.locator('.coin-picker input')
    // A whole name is no choice yet: it can be the beginning of another one.
    await field.pressSequentially('ETH')
    expect(await other.page.locator('h1').textContent()).toContain('BTC')
    await field.fill('eth')
    await other.page.keyboard.press('Enter')
    await other.page.locator('h1', { hasText: 'ETH' }).waitFor()
    expect(other.page.url()).toContain('#/coin/ETH')
    expect(await other.page.locator(':focus').getAttribute('name')).toBe('coin')
    expect(await field.inputValue()).toBe('')
  })
})

/** Code of the page, for the version of a document that its charts show, too: they are drawn after the panel. */
function drawnVersion(document: string): string {
  return `(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done))
    const versionNow = () => document.querySelector('[data-document="${document}"]').dataset.version
    let version = ''
    while (version !== versionNow()) {
      version = versionNow()
      for (let frames = 0; frames < 3; frames += 1) await frame()
    }
    return version
  })()`
}

/** Number of liquidation prices that a chart of the page has drawn. */
function marksOf(page: Page, name: string): Promise<number> {
  return page.evaluate(`window.perpscopeCharts?.get('${name}')?.marks().length ?? 0`)
}

type Sides = {
  readonly longs: readonly { readonly price: number }[]
  readonly shorts: readonly { readonly price: number }[]
}

type Liquidations = { readonly zones: Sides; readonly clusters: Sides }

type Places = {
  /** Prices over the candles and on the map. */
  readonly overlaid: readonly number[]
  readonly prices: readonly number[]
  /** Their places. */
  readonly candles: readonly number[]
  readonly map: readonly number[]
  readonly drawn: readonly number[]
  readonly height: number
  readonly width: number
}

type Shown = {
  readonly version: string
  readonly legend: Readonly<Record<string, number>>
  readonly close: number
}

type PulseAnswer = {
  readonly price: { readonly current: number }
  readonly timeframes: {
    readonly '1h': {
      readonly indicators: Readonly<Record<(typeof INDICATORS)[number], number | null>> & {
        readonly bollinger: { readonly upper: number; readonly lower: number }
      }
    }
  }
}
