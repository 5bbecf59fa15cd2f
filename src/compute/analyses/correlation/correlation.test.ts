import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import type { NaiveCloses } from '../../../../test/golden/naive-correlation.ts'
import { naiveCloses, naivePair } from '../../../../test/golden/naive-correlation.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { Batch, MarketEvent } from '../../../domain/event.ts'
import { sectorOf, sectors } from '../../../domain/sectors.ts'
import { Processor } from '../../processor.ts'
import { context, history, universe, wave } from '../../testing/tape.ts'
import { correlation } from './correlation.ts'
import { RETURN_MS, WINDOW_HOURS } from './correlation-window.ts'
import type { GatheredCloses } from './gathered-closes.ts'
import type { CoinScript } from './testing/market-log.ts'
import { closedBy, hourlyBars, hourlyHistory, LAST_HOUR } from './testing/market-log.ts'

const NOW_MS = closedBy(LAST_HOUR)
const names = ['ETH', 'SOL', 'ARB', 'OP', 'AAVE', 'kPEPE', 'DOGE', 'LINK', 'NEW']
const BTC: CoinScript = { coin: 'BTC', follows: 0.9, hours: 900 }
const market: readonly CoinScript[] = [
  BTC,
  ...names.map((coin, at) => ({
    coin,
    follows: 0.9 - 0.15 * at,
    hours: coin === 'NEW' ? 300 : 900,
  })),
]

/** `/correlation` as an agent reads it. */
type Body = {
  coins_analyzed: number
  window: { hours: number; candles: number; first_iso: string; last_iso: string }
  avg_correlation: number
  regime: string
  correlations: Record<string, number>
  stats: Record<
    string,
    { n: number; stderr: number; ci_low: number; ci_high: number; beta: number }
  >
  matrix: { coins: string[]; values: (number | null)[][] }
  sector_averages: Record<string, number | null>
  change: { avg_24h_ago: number | null; avg_7d_ago: number | null; delta_24h: number | null }
  short_window: { avg_correlation: number | null; regime: string }
  most_correlated: { coin: string; r: number }[]
  least_correlated: { coin: string; r: number }[]
  meta: {
    warnings: string[]
    quality: { coverage_pct: number; grade: string }
    data_age_seconds: number
    as_of: Record<string, string>
    cross_check: object
  }
}

describe('/correlation', () => {
  test('every number is what the raw log gives, to the digits shown', () => {
    const log = logOf(market)
    const { body } = answer(log)
    const closes = naiveCloses(log)
    const pairOf = (coin: string, endHour = LAST_HOUR, hours = WINDOW_HOURS) =>
      naivePair(of(closes, coin), of(closes, 'BTC'), { lastMs: endHour * RETURN_MS, hours })
    expect(Object.keys(body.correlations)).toEqual(names)
    expect(body.coins_analyzed).toBe(names.length)
    for (const coin of names) {
      const { n, r, beta, stderr, low, high } = pairOf(coin)
      expect(body.stats[coin]?.n).toBe(n)
      expect(Math.abs((body.stats[coin]?.stderr ?? 0) - stderr)).toBeLessThan(0.500001e-4)
      for (const [shown, exact] of [
        [body.correlations[coin], r],
        [body.stats[coin]?.ci_low, low],
        [body.stats[coin]?.ci_high, high],
        [body.stats[coin]?.beta, beta],
      ])
        expect(Math.abs((shown ?? Number.NaN) - (exact ?? 0))).toBeLessThan(0.500001e-3)
    }
    const average = (endHour: number, hours = WINDOW_HOURS) =>
      mean(names.map((coin) => pairOf(coin, endHour, hours).r))
    const known = (shown: number | null) => shown ?? Number.NaN
    expectShown(body.avg_correlation, average(LAST_HOUR))
    expectShown(known(body.change.avg_24h_ago), average(LAST_HOUR - 24))
    expectShown(known(body.change.avg_7d_ago), average(LAST_HOUR - 168))
    const { avg_24h_ago, delta_24h } = body.change
    expect(delta_24h, 'of the printed figures').toBe(
      Number((body.avg_correlation - known(avg_24h_ago)).toFixed(3)),
    )
    expectShown(known(body.short_window.avg_correlation), average(LAST_HOUR, 24))
    for (const sector of sectors) {
      const members = names.filter((coin) => sectorOf(coin) === sector)
      const shown = body.sector_averages[sector]
      if (members.length < 2) expect(shown).toBeNull()
      else expectShown(shown ?? Number.NaN, mean(members.map((coin) => pairOf(coin).r)))
    }
    for (const [a, coinA] of body.matrix.coins.entries())
      for (const [b, coinB] of body.matrix.coins.entries()) {
        const window = { lastMs: LAST_HOUR * RETURN_MS, hours: WINDOW_HOURS }
        const { r } = naivePair(of(closes, coinA), of(closes, coinB), window)
        expectShown(body.matrix.values[a]?.[b] ?? Number.NaN, a === b ? 1 : r)
      }
  })

  test('satisfies the published schema', () => {
    const schema = Compile(correlation.contract.document)
    expect([...schema.Errors(answer(logOf(market)).body)]).toEqual([])
    expect([...schema.Errors(answer(logOf(market.slice(0, 2))).body)]).toEqual([])
  })

  test('the window covers the candles used', () => {
    const { body } = answer(logOf(market))
    expect(body.window).toEqual({
      hours: 720,
      candles: 721,
      interval: '1h',
      first_iso: new Date((LAST_HOUR - 720) * RETURN_MS).toISOString(),
      last_iso: new Date(LAST_HOUR * RETURN_MS).toISOString(),
    })
    expect(body.meta.warnings).toEqual([])
    expect(body.meta.quality).toMatchObject({ grade: 'A', coverage_pct: 100 })
  })

  test('a short history gives the warning short_history', () => {
    const { body } = answer(logOf(market.map((script) => ({ ...script, hours: 150 }))))
    expect(body.window).toMatchObject({ hours: 149, candles: 150 })
    expect(body.stats['ETH']?.n).toBe(149)
    expect(body.meta.warnings).toEqual(['short_history'])
    expect(body.regime).not.toBe('UNKNOWN')
    expect(body.change.avg_7d_ago).toBeNull()
  })

  test('under 100 candles there is no regime', () => {
    const { body } = answer(logOf(market.map((script) => ({ ...script, hours: 99 }))))
    expect(body.window.candles).toBe(99)
    expect(body.regime).toBe('UNKNOWN')
    expect(body.short_window.regime).not.toBe('UNKNOWN')
  })

  test('under 8 coins there is no regime', () => {
    const { body } = answer(logOf(market.slice(0, 8)))
    expect(body.coins_analyzed).toBe(7)
    expect(body.regime).toBe('UNKNOWN')
    expect(body.short_window.regime).toBe('UNKNOWN')
  })

  test('a gap of BTC is in no pair and gives partial_data', () => {
    const gap = LAST_HOUR - 100
    const { body } = answer(
      logOf([{ ...BTC, isMissing: (hour) => hour === gap }, ...market.slice(1)]),
    )
    expect(body.window).toMatchObject({ hours: 720, candles: 720 })
    expect(body.stats['ETH']?.n).toBe(718)
    expect(body.meta.warnings).toEqual(['partial_data'])
  })

  test('a constant coin is left out, but counts as known', () => {
    const log = logOf([...market, { coin: 'FLAT', follows: 0, hours: 900 }]).map((batch) =>
      batch.map((event) =>
        event.kind === 'hourly-history' && event.coin === 'FLAT'
          ? { ...event, bars: event.bars.map((bar) => ({ ...bar, close: 5 })) }
          : event,
      ),
    )
    const { body } = answer(log)
    expect(Object.keys(body.correlations)).toEqual(names)
    expect(body.coins_analyzed).toBe(names.length)
    expect(body.meta.quality.coverage_pct).toBe(100)
  })

  test('a coin with less than a day in common with BTC is left out and lowers the coverage', () => {
    const { body } = answer(logOf([...market, { coin: 'FRESH', follows: 0.9, hours: 24 }]))
    expect(Object.keys(body.correlations)).toEqual(names)
    expect(body.meta.quality.coverage_pct).toBe(90)
  })

  test('most and least correlated are the ends of the ranking', () => {
    const { body } = answer(logOf(market))
    const ranked = Object.entries(body.correlations).toSorted(([, one], [, other]) => other - one)
    expect(body.most_correlated.map(({ coin }) => coin)).toEqual(
      ranked.slice(0, 3).map(([coin]) => coin),
    )
    expect(body.least_correlated.map(({ coin }) => coin)).toEqual(
      ranked
        .slice(-3)
        .reverse()
        .map(([coin]) => coin),
    )
  })

  test('perpetuals of builders have a correlation, and are in no average', () => {
    const stocks = Array.from({ length: 9 }, (_, at) => script(`xyz:S${at}`, -0.5))
    const [own, mixed] = [market, [...market, ...stocks]].map((each) => answer(logOf(each)).body)
    expect(mixed?.correlations).toMatchObject({
      ...own?.correlations,
      'xyz:S0': expect.any(Number),
    })
    expect(mixed?.coins_analyzed).toBe(names.length + stocks.length)
    for (const field of ['avg_correlation', 'regime', 'change', 'short_window'] as const)
      expect(mixed?.[field], field).toEqual(own?.[field])
    const few = answer(logOf([...market.slice(0, 8), ...stocks])).body
    expect(few.regime, 'seven coins of the venue').toBe('UNKNOWN')
    expect(render(gatheredFrom(logOf([BTC, ...stocks])).gathered).views['']?.kind).toBe(
      'missing-input',
    )
  })

  test('the matrix has BTC and the fifteen with the largest open interest', () => {
    const scripts = [BTC, ...Array.from({ length: 20 }, (_, at) => script(`C${at}`, 0.5))]
    const { body } = answer(logOf(scripts))
    const largest = Array.from({ length: 15 }, (_, at) => `C${19 - at}`)
    expect(body.matrix.coins).toEqual(['BTC', ...largest])
    expect(body.meta.as_of).toHaveProperty('open_interest')
  })

  test('candles give the same answer as hourly history', () => {
    const quarters = (coin: string) => history(coin, '15m', wave('15m', 1008, 0.05))
    const { body } = answer([
      [universe(['BTC', 'ETH'])],
      [quarters('BTC'), quarters('ETH')],
      [context('BTC'), context('ETH')],
    ])
    expect(body.window).toMatchObject({ hours: 251, candles: 252 })
    expect(body.correlations).toEqual({ ETH: 1 })
    expect(body.stats['ETH']).toEqual({ n: 251, stderr: 0, ci_low: 1, ci_high: 1, beta: 1 })
  })

  test('states that the pairs come from the returns', () => {
    const { body } = answer(logOf(market))
    expect(body.meta.cross_check).toEqual({
      served: 'from_scratch',
      pairs: 0,
      disagreeing: 0,
      disagreements_since_start: 0,
    })
  })

  test('gathered data cross a thread and do not change with later events', () => {
    const { processor, gathered } = gatheredFrom(logOf(market))
    const crossed = structuredClone(gathered)
    const before = answerOf(gathered).text
    const [bar] = hourlyBars(market[1] as CoinScript).slice(-10)
    if (bar === undefined) throw new Error('there are bars')
    processor.process([hourlyHistory('ETH', [{ ...bar, close: 9 }], NOW_MS)])
    expect(answerOf(gathered).text).toBe(before)
    expect(answerOf(crossed).text).toBe(before)
  })

  test('is the same however its events are batched', () => {
    const log = logOf(market)
    expect(answer([log.flat()]).body).toEqual(answer(log).body)
  })

  test('has the age of the coin at the 10th percentile', () => {
    const { gathered } = gatheredFrom(logOf(market))
    const candlesConfirmedAtMs = gathered.candlesConfirmedAtMs.map((_, row) => NOW_MS - 1_000 * row)
    const { body } = answerOf({ ...gathered, candlesConfirmedAtMs })
    expect(body.meta.data_age_seconds).toBe(9)
  })

  test.each([
    { what: 'nothing is known', log: [[universe(['BTC', 'ETH'])]], kind: 'low-coverage' },
    { what: 'there is no BTC', log: logOf(market.slice(1)), kind: 'low-coverage' },
    { what: 'there is BTC alone', log: logOf([BTC]), kind: 'low-coverage' },
    {
      what: 'BTC has less than a day',
      log: logOf(market.map((each) => ({ ...each, hours: 20 }))),
      kind: 'low-coverage',
    },
  ])('has a reason, and no answer, when $what', ({ log, kind }) => {
    expect(render(gatheredFrom(log).gathered).views['']?.kind).toBe(kind)
  })

  test('with 200 coins stays below 20,000 tokens', () => {
    const coins = Array.from({ length: 199 }, (_, at) => script(`kCOIN${at}`, Math.sin(at)))
    const { text, body } = answer(logOf([BTC, ...coins]))
    expect(body.coins_analyzed).toBe(199)
    const tokens = countTokens(text)
    console.log(`/correlation of 200 coins: ${tokens} tokens, ${text.length} bytes`)
    expect(tokens).toBeLessThan(20_000)
  })
})

function script(coin: string, follows: number): CoinScript {
  return { coin, follows, hours: 900 }
}

/** What the venue said of these coins; open interest rises from one to the next. */
function logOf(scripts: readonly CoinScript[]): Batch[] {
  const events: MarketEvent[] = scripts.flatMap((each, at) => [
    { ...context(each.coin, { openInterestBase: 1 + at }), ...stamp() },
    hourlyHistory(each.coin, hourlyBars(each), NOW_MS),
  ])
  return [
    [{ ...universe(scripts.map(({ coin }) => coin)), ...stamp() }],
    ...events.map((event) => [event]),
  ]
}

function stamp() {
  return { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
}

function answer(log: readonly Batch[]) {
  return answerOf(gatheredFrom(log).gathered)
}

function gatheredFrom(log: readonly Batch[]) {
  const processor = new Processor({ coin: [], market: [correlation] }, '0.0.0')
  for (const batch of log) processor.process(batch)
  return { processor, gathered: processor.gather('correlation', NOW_MS).gathered as GatheredCloses }
}

function render(gathered: GatheredCloses): Document {
  return correlation.render(gathered, {
    key: 'correlation/*',
    version: 1,
    renderedAtMs: NOW_MS,
    snapshotId: 'snp_1',
    engineVersion: '0.0.0',
  })
}

function answerOf(gathered: GatheredCloses): { text: string; body: Body } {
  const document = render(gathered)
  const view = document.views['']
  if (view?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(view)}`)
  const facts = { nowMs: NOW_MS, executionMs: 0.1, coinsAvailable: 1 }
  const text = fillDocument(document, view, facts).toString('utf8')
  return { text, body: JSON.parse(text) as Body }
}

function of(closes: ReadonlyMap<string, NaiveCloses>, coin: string): NaiveCloses {
  return closes.get(coin) ?? new Map()
}

/** Rounded to three decimals. */
function expectShown(shown: number, exact: number): void {
  expect(Math.abs(shown - exact)).toBeLessThan(0.500001e-3)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
