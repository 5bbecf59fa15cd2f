import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { naiveScreener } from '../../../../test/golden/naive-screener.ts'
import { naiveHours } from '../../../../test/golden/naive-volatility.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import { viewKeyOf } from '../../../domain/contract.ts'
import type { Document } from '../../../domain/document.ts'
import { WHOLE_MARKET } from '../../../domain/document.ts'
import type { Batch, ContextEvent, LiquidationEvent } from '../../../domain/event.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { externalEvents } from '../../testing/external-events.ts'
import { randomMarket } from '../../testing/random-market.ts'
import {
  BOUNDARY_MS,
  book,
  context,
  flat,
  fundingHistory,
  history,
  NOW_MS,
  universe,
  warmTape,
  wave,
} from '../../testing/tape.ts'
import { cexDex } from '../cex-dex/cex-dex.ts'
import { liquidations } from '../liquidations/liquidations.ts'
import { pulse } from '../pulse/pulse.ts'
import { screener } from './screener.ts'
import type { ScreenerColumns } from './screener-columns.ts'
import { VALUES_PER_COIN } from './screener-columns.ts'
import {
  rowsMax,
  screenerViewKey,
  screenerViews,
  viewParameter,
  wholeScreenerView,
} from './screener-parameters.ts'

const COINS = ['BTC', 'ETH', 'SOL', 'kPEPE', 'HYPE', 'DOGE', 'AVAX', 'LINK']
const READ_MS = NOW_MS + 1_500

/** A source of all liquidations of the last 24 hours. */
const allLiquidations = {
  kind: 'liquidation-feed',
  fromMs: NOW_MS - 24 * 3_600_000,
  untilMs: NOW_MS,
  timeExchangeMs: NOW_MS,
  timeReceivedMs: NOW_MS,
} as const

describe('screener', () => {
  property.prop([fc.integer()], { numRuns: 8 })(
    'says of a random market what is worked out from its events by hand',
    (seed) => {
      const tape = randomMarket(COINS, seed)
      const body = read(documentOf(tape))
      const naive = naiveScreener(tape.flat())
      expect(body.coins).toHaveLength(COINS.length)
      for (const row of body.coins) expectRow(row, naive.rows.get(row.coin))
      const { market, top } = body
      expect(market).toMatchObject({
        bullish_count: naive.market.bullish_count,
        bearish_count: naive.market.bearish_count,
        neutral_count: naive.market.neutral_count,
        vol_regime: naive.market.vol_regime,
        breadth_pct: naive.market.breadth_pct,
      })
      expect(market.median_funding_annualized_pct).toBeCloseTo(
        naive.market.median_funding_annualized_pct,
        1,
      )
      expect(top).toMatchObject({
        crowded_long: naive.top.crowded_long,
        crowded_short: naive.top.crowded_short,
      })
      for (const bias of ['bullish', 'bearish'] as const)
        expect(new Set(top[bias])).toEqual(new Set(naive.top[bias]))
    },
  )

  property.prop([fc.integer()], { numRuns: 4 })(
    'says of a coin what its own analyses say of it',
    (seed) => {
      const times = { timeExchangeMs: NOW_MS - 60_000, timeReceivedMs: NOW_MS }
      const liquidation: LiquidationEvent = {
        ...{ kind: 'liquidation', coin: COINS[0] ?? '', tradeId: 1, account: '0xa', side: 'long' },
        ...{ price: 9, sizeBase: 1_000, markPrice: 9.5, method: 'market', ...times },
      }
      const tape = [...randomMarket(COINS.slice(0, 3), seed), [liquidation], [allLiquidations]]
      const { processor, document } = gathered(tape)
      for (const row of read(document).coins) {
        const hour = answerOf(processor, `pulse/${row.coin}`, '1h') as PulseBody
        const four = answerOf(processor, `pulse/${row.coin}`, '4h') as PulseBody
        expect(row).toMatchObject({
          price: hour.price.current,
          confluence_bias: hour.confluence.bias,
          confluence_score: hour.confluence.score,
          rsi_14: hour.timeframes['1h']?.indicators.rsi_14,
          rsi_zone: hour.timeframes['1h']?.indicators.rsi_zone,
          trend: four.timeframes['4h']?.indicators.trend.label,
          funding_annualized_pct: hour.derivatives.funding_annualized_pct,
        })
        const cents = row.oi_notional_usd - hour.derivatives.open_interest
        expect(Math.abs(cents), 'the same, without its cents').toBeLessThan(0.51)
        const map = answerOf(processor, `liquidations/${row.coin}`, '') as {
          cascade_risk: { level: string }
          realised: { longs: { notional_usd: number } }
        }
        expect(row.cascade_level).toBe(map.cascade_risk.level)
        expect(row.liquidated_usd).toBe(map.realised.longs.notional_usd)
        expect(row.liquidated_usd).toBe(row.coin === COINS[0] ? 9_500 : 0)
      }
    },
  )

  test('the market is the main dex; builder-deployed perpetuals are rows', () => {
    const [listed = [], ...own] = randomMarket(COINS, 5)
    const builders = randomMarket(
      COINS.map((coin) => `xyz:${coin}`),
      6,
    ).slice(1)
    const all = [universe([...COINS, ...COINS.map((coin) => `xyz:${coin}`)]), ...listed.slice(1)]
    const [alone, mixed] = [
      [listed, ...own],
      [all, ...own, ...builders],
    ].map((tape) => read(documentOf(tape)))
    expect(mixed?.coins).toHaveLength(2 * COINS.length)
    const { breadth_pct, median_funding_annualized_pct, vol_regime } = alone?.market ?? {}
    expect(mixed?.market).toMatchObject({ breadth_pct, median_funding_annualized_pct, vol_regime })
  })

  test('shows liquidations once 24 hours are observed, or with a source of all of them', () => {
    const [coin = ''] = COINS
    const shown = (tape: readonly Batch[], nowMs = NOW_MS) =>
      read(documentOf(tape, nowMs), undefined, nowMs).coins.map((row) => row.liquidated_usd)
    const [listed = [], ...rest] = randomMarket([coin], 1)
    const early = { ...context(coin), timeExchangeMs: NOW_MS - 25 * 3_600_000 }
    expect(shown([listed, ...rest])).toEqual([null])
    expect(shown([listed, [early], ...rest])).toEqual([0])
    const later = { timeExchangeMs: NOW_MS + 70_000, timeReceivedMs: NOW_MS + 70_000 }
    const unseen = shown([listed, [early], ...rest, [context(coin, later)]], NOW_MS + 70_000)
    expect(unseen, 'while trades do not arrive').toEqual([null])
    expect(shown([listed, ...rest, [allLiquidations]])).toEqual([0])
  })

  test('shows the divergence of /cex-dex, null for uncovered coins', () => {
    const [covered = '', ...others] = COINS.slice(0, 3)
    const tape = randomMarket(COINS.slice(0, 3), 1)
    const price = lastContext(tape, covered).oraclePrice
    const { processor, document } = gathered([...tape, externalEvents(covered, price, NOW_MS)])
    const rows = new Map(read(document).coins.map((row) => [row.coin, row]))
    const own = answerOf(processor, `cex-dex/${covered}`, '') as DivergenceBody
    expect(rows.get(covered)).toMatchObject({
      cex_dex_spread_bps: own.divergence_bps,
      cex_dex_direction: own.direction,
    })
    for (const coin of others)
      expect(rows.get(coin)).toMatchObject({ cex_dex_spread_bps: null, cex_dex_direction: null })
  })

  test.each([
    [0.24, 'LOW'],
    [0.61, 'HIGH'],
    [null, null],
  ])('a stress score of %s is shown as %s', (stressScore, level) => {
    const columns = { ...manyCoins(20, 0), stressScore }
    expect(read(render(columns)).market.stress_level).toBe(level)
  })

  test.each([
    { market: 'a moving market', tape: marketOf(wave) },
    { market: 'a market without a single trade', tape: marketOf(flat) },
    {
      market: 'a market of one-sided books',
      tape: [
        ...marketOf(wave),
        COINS.map((coin) =>
          context(coin, { midPrice: null, premium: null, impactBid: null, impactAsk: null }),
        ),
      ],
    },
  ])('every answer on $market satisfies the published schema', ({ tape }) => {
    const document = documentOf(tape)
    const schema = Compile(screener.contract.document)
    for (const view of Object.keys(document.views))
      expect([...schema.Errors(JSON.parse(filled(document, view)))], view).toEqual([])
  })

  test('a constant market is ranked by name with strength 0', () => {
    const { coins } = read(documentOf(marketOf(flat)))
    expect(coins.map(({ coin }) => coin)).toEqual([...COINS].sort())
    for (const row of coins)
      expect(row).toMatchObject({ vol_regime: 'NORMAL', confluence_bias: 'neutral' })
  })

  test('the strongest come first, and every view is a prefix of the longest', () => {
    const document = documentOf(randomMarket(COINS, 7))
    const all = read(document, screenerViewKey('full', rowsMax.full)).coins
    for (const [at, row] of all.entries()) {
      const next = all[at + 1]
      if (next === undefined) continue
      const isBefore =
        row.signal_strength > next.signal_strength ||
        (row.signal_strength === next.signal_strength && row.coin < next.coin)
      expect(isBefore, `${row.coin} before ${next.coin}`).toBe(true)
    }
    for (const view of screenerViews) {
      for (const rows of [1, 3, COINS.length, rowsMax[view]]) {
        const { coins } = read(document, screenerViewKey(view, rows))
        expect(coins).toHaveLength(Math.min(rows, COINS.length))
        for (const [at, row] of coins.entries()) expect(all[at]).toMatchObject(row)
        if (view === 'compact') for (const row of coins) expect(Object.keys(row)).toHaveLength(8)
      }
    }
  })

  test('the parameter view has the number of fields of its rows', () => {
    const document = documentOf(randomMarket(COINS, 7))
    const [full, compact] = ['full,1', 'compact,1'].map(
      (view) => Object.keys(read(document, view).coins[0] ?? {}).length,
    )
    expect(viewParameter.description).toBe(
      `full, or compact: ${compact} instead of ${full} fields per coin.`,
    )
  })

  test('the whole view has every coin with all fields, and no call reaches it', () => {
    const many = Array.from({ length: rowsMax.full + 20 }, (_, at) => `C${at}`)
    const document = documentOf(randomMarket(many, 7))
    const { coins } = read(document, wholeScreenerView)
    expect(coins).toHaveLength(many.length)
    const longest = read(document, screenerViewKey('full', rowsMax.full)).coins
    expect(coins.slice(0, rowsMax.full)).toEqual(longest)
    for (const row of coins) expect(Object.keys(row)).toEqual(Object.keys(coins[0] ?? {}))
    for (const top_n of ['all', String(rowsMax.full + 1)]) {
      const asked: Readonly<Record<string, string>> = { view: 'full', top_n }
      expect(viewKeyOf(screener.contract, (name) => asked[name])).not.toBeTypeOf('string')
    }
  })

  test('meta differs between views in answer_id only', () => {
    const document = documentOf(randomMarket(COINS, 7))
    const [one, other] = ['full,50', 'compact,200'].map((view) => read(document, view).meta)
    expect(one?.answer_id).toMatch(/^ans_\w+_full_50$/)
    expect(other).toEqual({ ...one, answer_id: one?.answer_id.replace('full_50', 'compact_200') })
  })

  test('ages grow while the document is unchanged', () => {
    const laterMs = NOW_MS + 4_000
    const times = { timeExchangeMs: laterMs, timeReceivedMs: laterMs }
    const late = (coin: string) => [book(coin, times), context(coin, times)]
    const tape = [...marketOf(wave), COINS.slice(1).flatMap(late)]
    const { coins, meta } = read(documentOf(tape, laterMs), 'full,50', laterMs + 250)
    for (const row of coins)
      expect(row.data_age_seconds, row.coin).toBe(row.coin === COINS[0] ? 4.25 : 0.25)
    expect(meta.data_age_seconds).toBe(4.25)
  })

  test('shows the regime as pulse does', () => {
    const laterMs = BOUNDARY_MS + 301_000
    const heard = (timeMs: number) =>
      COINS.map((coin) => context(coin, { timeExchangeMs: timeMs, timeReceivedMs: timeMs }))
    const processor = processorOf(marketOf(wave))
    processor.process(heard(NOW_MS + 1))
    for (const _ of processor.publish(NOW_MS + 1));
    processor.process(heard(laterMs))
    const { market } = read(rendered(processor, laterMs), 'full,50', laterMs)
    const { regime } = answerOf(processor, 'pulse/BTC', '1h,4h', laterMs) as PulseBody
    expect(regime.current).toBe('NEUTRAL')
    expect(market).toMatchObject({ regime: regime.current, regime_score: regime.score })
  })

  describe('with incomplete data', () => {
    test('gives a reason for every skipped coin', () => {
      const staleMs = NOW_MS - 300_001
      const stale = { timeExchangeMs: staleMs, timeReceivedMs: staleMs }
      const tape: Batch[] = [
        ...marketOf(wave),
        [universe([...COINS, 'YOUNG', 'MUTE', 'BARE', 'HELD'], ['GONE'])],
        [context('YOUNG'), history('YOUNG', '15m', wave('15m', 600))],
        ...coinTape('MUTE').map((batch) => batch.filter(({ kind }) => kind !== 'context')),
        ...coinTape('HELD').map((batch) => batch.map((event) => ({ ...event, ...stale }))),
      ]
      const body = read(documentOf(tape))
      expect(body).toMatchObject({ coins_scanned: 8, coins_total: 12, skipped_count: 5 })
      expect(body.skipped).toEqual([
        { coin: 'YOUNG', reason: 'insufficient_candles' },
        { coin: 'MUTE', reason: 'stale_data' },
        { coin: 'BARE', reason: 'insufficient_candles' },
        { coin: 'HELD', reason: 'stale_data' },
        { coin: 'GONE', reason: 'delisted' },
      ])
      expect(body.meta.quality).toMatchObject({ coverage_pct: 66.667 })
      expect(body.meta.warnings).toContain('low_coverage')
    })

    test.each([
      { ageMs: 300_000, skipped: [] },
      { ageMs: 300_001, skipped: [{ coin: COINS[0], reason: 'stale_data' }] },
    ])('a context of $ageMs ms ago dates its row, or skips it', ({ ageMs, skipped }) => {
      const [coin = ''] = COINS
      const oldMs = NOW_MS - ageMs
      const old = { timeExchangeMs: oldMs, timeReceivedMs: oldMs }
      const now = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
      const tape = marketOf(wave).map((batch) =>
        batch.map((event) =>
          event.kind === 'context' && event.coin === coin ? { ...event, ...old } : event,
        ),
      )
      const mark: Batch = [{ kind: 'mark', coin, markPrice: 110, ...now }]
      const body = read(documentOf([...tape, mark]), undefined, NOW_MS)
      expect(body.skipped).toEqual(skipped)
      const ages = body.coins.map((row) => row.data_age_seconds)
      expect(Math.max(...ages)).toBe(skipped.length === 0 ? ageMs / 1_000 : 0)
      expect(body.meta.data_age_seconds).toBe(Math.max(...ages))
    })

    test.each([
      { ageMs: 60_000, isKnown: true },
      { ageMs: 60_001, isKnown: false },
    ])('a mark of $ageMs ms ago gives a cascade level: $isKnown', ({ ageMs, isKnown }) => {
      const nowMs = NOW_MS + ageMs
      const { coins } = read(documentOf(marketOf(wave), nowMs), undefined, nowMs)
      expect(coins.map(({ cascade_level }) => cascade_level !== null)).toEqual(
        COINS.map(() => isKnown),
      )
    })

    test('a coin with cold averages is not ranked', () => {
      const tape = [...marketOf(wave), [universe([...COINS, 'NEW'])], [context('NEW')]]
      const fours = history('NEW', '4h', wave('4h', 330))
      const enough = [fours, history('NEW', '15m', wave('15m', 1_300))]
      expect(read(documentOf([...tape, enough])).coins.map(({ coin }) => coin)).toContain('NEW')
      const less = [fours, history('NEW', '15m', wave('15m', 1_296))]
      expect(read(documentOf([...tape, less])).skipped, '324 closed bars of 1h').toEqual([
        { coin: 'NEW', reason: 'insufficient_candles' },
      ])
    })

    test('answers after a restart once the hours are loaded', () => {
      const tape = marketOf(wave)
      const first = processorOf(tape)
      const restarted = processorOf([])
      restarted.restore(first.records.checkpoint(NOW_MS), NOW_MS)
      restarted.process(COINS.flatMap((coin) => [context(coin), fundingHistory(coin)]))
      const { views } = rendered(restarted, NOW_MS)
      expect(views['full,50']).toMatchObject({ kind: 'low-coverage', have: 0, need: 4 })
      const bars = naiveHours(wave('15m', 1_344))
      const at = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
      restarted.process(
        COINS.map((coin) => ({ kind: 'hourly-history', coin, bars, isRemembered: true, ...at })),
      )
      const rows = (processor: Processor) =>
        read(rendered(processor, NOW_MS)).coins.map(({ coin, signal_strength, vol_regime }) => ({
          coin,
          signal_strength,
          vol_regime,
        }))
      expect(rows(restarted)).toEqual(rows(first))
    })

    test('an incomplete month shows its length', () => {
      const { market, meta } = read(documentOf(marketOf(wave)))
      // 336 hours of history, of which 14 go to the first average.
      expect(market.vol_window_hours).toBe(322)
      expect(meta.warnings).toEqual(['short_history'])
      expect(meta.quality.grade).toBe('C')
    })

    test.each([
      { silent: 2, warnings: ['short_history'] },
      { silent: 3, warnings: ['short_history', 'low_coverage'] },
      { silent: 8, warnings: ['short_history', 'low_coverage'] },
    ])('with 8 coins known and $silent unknown warns of $warnings', ({ silent, warnings }) => {
      const names = Array.from({ length: silent }, (_, at) => `N${at}`)
      const body = read(documentOf([...marketOf(wave), [universe([...COINS, ...names])]]))
      expect(body.meta.warnings).toEqual(warnings)
    })

    test.each([
      { what: 'fewer than half of the coins', names: 9, have: 8, need: 9 },
      { what: 'no coin at all', names: 0, have: 0, need: 1 },
    ])('of $what gives no answer in any view', ({ names, have, need }) => {
      const more = Array.from({ length: names }, (_, at) => `N${at}`)
      const tape = names === 0 ? [] : [...marketOf(wave), [universe([...COINS, ...more])]]
      const { views } = documentOf(tape)
      expect(Object.keys(views)).toHaveLength(rowsMax.full + rowsMax.compact + 1)
      for (const view of Object.values(views))
        expect(view).toMatchObject({ kind: 'low-coverage', have, need })
    })

    test('open interest of less than four hours has no trend yet', () => {
      for (const row of read(documentOf(marketOf(wave))).coins) expect(row.oi_trend).toBe('UNKNOWN')
    })
  })

  describe('for the whole venue', () => {
    test('stays within the token budget', () => {
      const document = render(manyCoins(230, 90))
      const tokens = (view: string) => encode(filled(document, view)).length
      expect(tokens('full,50')).toBeLessThan(10_000)
      expect(tokens('compact,50')).toBeLessThan(5_000)
      expect(tokens(`full,${rowsMax.full}`)).toBeLessThan(20_000)
      expect(tokens(`compact,${rowsMax.compact}`)).toBeLessThan(20_000)
    })

    test('shares its rows between views', () => {
      const document = render(manyCoins(230, 90))
      const longest = [wholeScreenerView, 'compact,200'].map(
        (view) => filled(document, view).length,
      )
      expect(document.bytes.length).toBeLessThan(1.2 * longest.reduce((sum, one) => sum + one, 0))
      for (const view of Object.values(document.views))
        expect(view.kind === 'answer' && view.parts.length).toBeLessThan(20)
    })

    test('gathered data give the same answer in a worker', () => {
      const columns = manyCoins(20, 3)
      expect(render(structuredClone(columns))).toEqual(render(columns))
    })

    test('lists at most 40 skipped coins', () => {
      const body = read(render(manyCoins(100, 90)))
      expect(body.skipped).toHaveLength(40)
      expect(body.skipped_count).toBe(90)
    })
  })
})

type Row = {
  readonly coin: string
  readonly signal_strength: number
  readonly oi_notional_usd: number
  readonly cascade_level: string | null
  readonly liquidated_usd: number
  readonly oi_trend: string
  readonly vol_regime: string
  readonly data_age_seconds: number
}

type Body = {
  readonly coins: readonly Row[]
  readonly market: {
    readonly breadth_pct: number
    readonly vol_regime: string
    readonly median_funding_annualized_pct: number
    readonly vol_window_hours: number
    readonly stress_level: string | null
  }
  readonly top: Readonly<Record<string, readonly string[]>>
  readonly skipped: readonly unknown[]
  readonly skipped_count: number
  readonly meta: {
    readonly answer_id: string
    readonly warnings: readonly string[]
    readonly quality: { readonly grade: string }
    readonly data_age_seconds: number
  }
}

type DivergenceBody = { readonly divergence_bps: number; readonly direction: string }

type PulseBody = {
  readonly price: { readonly current: number }
  readonly confluence: { readonly bias: string; readonly score: number }
  readonly derivatives: { readonly funding_annualized_pct: number; readonly open_interest: number }
  readonly regime: { readonly current: string; readonly score: number | null }
  readonly timeframes: Readonly<
    Record<string, { indicators: { rsi_14: number; rsi_zone: string; trend: { label: string } } }>
  >
}

/** Rounded where it is shown: half a unit of the last digit. */
const halfUnits: Readonly<Record<string, number>> = {
  price: 5e-8,
  change_24h_pct: 5e-5,
  signal_strength: 5e-4,
  confluence_score: 5e-4,
  rsi_14: 5e-5,
  // Of the rate, as it is printed elsewhere: 5e-9 x 8,760 h x 100.
  funding_annualized_pct: 5e-3,
  oi_notional_usd: 0.5,
  volume_24h_usd: 0.5,
}

function expectRow(row: Row, expected: Readonly<Record<string, unknown>> | undefined): void {
  if (expected === undefined) throw new Error(`${row.coin} is no coin of the market`)
  for (const [name, value] of Object.entries(row)) {
    const naive = expected[name]
    if (naive === undefined) continue
    if (typeof naive !== 'number') {
      expect(value, `${name} of ${row.coin}`).toBe(naive)
      continue
    }
    const unit = halfUnits[name] ?? Number.NaN
    const off = Math.abs((value as number) - naive)
    const scale = name === 'price' ? naive : 1
    expect(off, `${name} of ${row.coin}`).toBeLessThanOrEqual(unit * scale * 1.01)
  }
}

function marketOf(bars: typeof wave): Batch[] {
  return [[universe(COINS)], ...COINS.flatMap((coin) => coinTape(coin, bars))]
}

/** Without its list of coins, which would be the only one. */
function coinTape(coin: string, bars: typeof wave = wave): Batch[] {
  return warmTape(coin, bars).slice(1)
}

function processorOf(tape: readonly Batch[]): Processor {
  const processor = new Processor(
    { coin: [pulse, liquidations, cexDex], market: [screener] },
    '0.0.0',
  )
  for (const batch of tape) processor.process(batch)
  return processor
}

function rendered(processor: Processor, nowMs: number): Document {
  const job = processor.gather('screener', nowMs)
  return screener.render(job.gathered as ScreenerColumns, job.rendering)
}

function lastContext(tape: readonly Batch[], coin: string): ContextEvent {
  const found = tape.flat().findLast((event) => event.kind === 'context' && event.coin === coin)
  if (found?.kind !== 'context') throw new Error(`no figures of ${coin}`)
  return found
}

function gathered(tape: readonly Batch[], nowMs = NOW_MS) {
  const processor = processorOf(tape)
  return { processor, document: rendered(processor, nowMs) }
}

function documentOf(tape: readonly Batch[], nowMs = NOW_MS): Document {
  return gathered(tape, nowMs).document
}

function render(columns: ScreenerColumns): Document {
  const renderedAtMs = NOW_MS
  return screener.render(columns, {
    key: `screener/${WHOLE_MARKET}`,
    version: 1_780_000_000_000_000,
    renderedAtMs,
    snapshotId: 'snp_mpv5pfuw',
    engineVersion: '0.1.0',
  })
}

const published = new WeakMap<Processor, Map<string, Document>>()

function answerOf(processor: Processor, key: string, view: string, nowMs = NOW_MS): unknown {
  const documents = published.get(processor) ?? new Map<string, Document>()
  published.set(processor, documents)
  for (let phase = 0; phase < PUBLISH_PHASES && !documents.has(key); phase += 1)
    for (const document of processor.publish(nowMs)) documents.set(document.key, document)
  const document = documents.get(key)
  if (document === undefined) throw new Error(`${key} was not published`)
  return JSON.parse(filled(document, view, nowMs))
}

function read(
  document: Document,
  view: string = screener.contract.defaultView,
  nowMs = READ_MS,
): Body {
  return JSON.parse(filled(document, view, nowMs)) as Body
}

function filled(document: Document, view: string, nowMs = READ_MS): string {
  const answer = document.views[view]
  if (answer?.kind !== 'answer') throw new Error(`no answer in ${view}: ${JSON.stringify(answer)}`)
  return fillDocument(document, answer, {
    nowMs,
    executionMs: 12.345,
    coinsAvailable: 190,
  }).toString('utf8')
}

/** Names and numbers as long as they come. */
function manyCoins(count: number, skipped: number): ScreenerColumns {
  const column = (of: (row: number) => number) =>
    Float64Array.from({ length: count }, (_, row) => of(row))
  const wobble = (row: number) => 1 + 0.0001234567 * (row + 1)
  return {
    coins: Array.from({ length: count }, (_, row) => `kFARTCOIN${row}`),
    units: Array.from({ length: count }, () => 'USDC'),
    numbers: {
      price: column((row) => 0.012345678 * wobble(row)),
      prevDayPrice: column((row) => 0.01456789 * wobble(2 * row)),
      close1h: column(wobble),
      close4h: column(wobble),
      volatilityPercentile: column((row) => (row * 37) % 100),
      volatilityHours: column(() => 720),
      fundingBias: column((row) => row % 3),
      fundingPercentile: column((row) => (row * 41) % 101),
      fundingRateHourly: column((row) => -0.00012345678 * wobble(row)),
      fundingVote: column((row) => (row % 3) - 1),
      interestVote: column((row) => (row % 2) - 1),
      interestTrend: column((row) => row % 4),
      openInterestUsd: column((row) => 2_139_333_552.12 * wobble(row)),
      dayNotionalUsd: column((row) => 3_100_012_345.12 * wobble(row)),
      cascadeLevel: column((row) => row % 4),
      liquidatedUsd: column((row) => 123_456_789.12 * wobble(row)),
      cexDexBps: column((row) => 100 * Math.sin(row)),
      cexDexNoiseBps: column(() => 12.3456),
      supportedParts: column(() => 0),
      candlesConfirmedAtMs: column((row) => NOW_MS - 17 * row),
      priceConfirmedAtMs: column((row) => NOW_MS - 13 * row),
      contextReceivedAtMs: column((row) => NOW_MS - 13 * row),
    },
    values1h: indicatorsLike(count),
    values4h: indicatorsLike(count),
    skipped: Array.from({ length: skipped }, (_, at) => ({
      coin: `xyz:DELISTED${at}`,
      reason: 'insufficient_candles' as const,
    })),
    coinsTotal: count + skipped,
    regime: null,
    stressScore: 0.61,
  }
}

function indicatorsLike(count: number): Float64Array {
  return Float64Array.from({ length: count * VALUES_PER_COIN }, (_, at) =>
    at % VALUES_PER_COIN === 0 ? 30.1234567 + (at % 40) : 1 + Math.sin(at) / 10,
  )
}
