import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Bar } from '../../../domain/bar.ts'
import { documentKey, viewOf } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { newMarket } from '../../testing/new-market.ts'
import { renderCoin } from '../../testing/render-coin.ts'
import { BOUNDARY_MS, context, history, NOW_MS, universe, wave } from '../../testing/tape.ts'
import { harForecast } from '../../volatility/har-forecast.ts'
import { CLOSES_READ, HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyForecasts } from '../../volatility/hourly-forecasts.ts'
import { volatilityRank } from '../../volatility/volatility-rank.ts'
import type { VolatilityWindow } from './realised-volatility.ts'
import { barsMin, volatilityWindows } from './realised-volatility.ts'
import { naiveRealisedVolatility } from './testing/naive-volatility.ts'
import { volatility } from './volatility.ts'
import { VolatilityBars, volatilityBars } from './volatility-bars.ts'
import { VolatilityAnswer } from './volatility-schema.ts'

const HOUR_MS = timeframeMs['1h']
const quarters = wave('15m', 1_344)
/** 37 days of hours that end where the candles end. */
const hours = wave('1h', CLOSES_READ)
const candles = [history('BTC', '4h', wave('4h', 1_200)), history('BTC', '15m', quarters)]
const windows = Object.keys(volatilityWindows) as VolatilityWindow[]

describe('/volatility', () => {
  test.each(windows)('over %s equals the naive twin on the last closed bars', (window) => {
    const { barMs, windowMs } = volatilityWindows[window]
    const closed = quarters.filter(({ openTimeMs }) => openTimeMs < BOUNDARY_MS)
    const bars = barMs === HOUR_MS ? inHours(closed) : closed
    const count = windowMs / barMs
    const naive = naiveRealisedVolatility(bars, count, barsMin(count), barMs)
    const shown = answerOf(candles).realised[window]
    expect(shown.bars).toBe(naive.bars)
    expect(shown.close_to_close_pct).toBeCloseTo(naive.closeToClosePct ?? -1, 3)
    expect(shown.parkinson_pct).toBeCloseTo(naive.parkinsonPct ?? -1, 3)
    expect(shown.yang_zhang_pct).toBeCloseTo(naive.yangZhangPct ?? -1, 3)
    expect(shown.parkinson_to_close_ratio).toBeCloseTo(naive.parkinsonToCloseRatio ?? -1, 3)
  })

  test('ranks and forecasts from 37 days of hourly closes', () => {
    const answer = answerOf([...candles, hourly()])
    const { percentile_30d, percentile_readings, forecast_24h, volatility_24h_pct } = answer
    const closes = newestCloses()
    const forecast = harForecast(closes)
    expect(forecast.fittedOnHours).toBe(CLOSES_READ)
    expect(forecast_24h).toMatchObject({ fitted_on_hours: CLOSES_READ, evaluations: 338 })
    expect(forecast_24h.volatility_pct).toBeCloseTo(forecast.volatilityPct ?? -1, 3)
    expect(forecast_24h.out_of_sample_error_pct).toBeCloseTo(forecast.outOfSampleErrorPct ?? -1, 3)
    const squares = closes
      .slice(-25)
      .map((close, at, day) => Math.log(close / (day[at - 1] ?? close)) ** 2)
    const dayVariance = squares.reduce((sum, square) => sum + square, 0) / 24
    expect(volatility_24h_pct).toBeCloseTo(100 * Math.sqrt(dayVariance * 24 * 365), 3)
    expect(percentile_readings).toBe(720)
    expect(percentile_30d).toBeCloseTo(volatilityRank(closes).percentile ?? -1, 0)
  })

  test('without a month of hours it is sold with the warning short_history', () => {
    const document = renderCoin(volatility, 'BTC', [...candles, context('BTC')])
    expect(viewOf(document, '')).toMatchObject({
      kind: 'answer',
      warnings: expect.arrayContaining(['short_history']),
    })
    expect(answerOf(candles).forecast_24h).toMatchObject({
      volatility_pct: null,
      out_of_sample_error_pct: null,
    })
  })

  test('is not sold from bars of a checkpoint before any candle is received', () => {
    const before = coinOf(candles)
    const market = newMarket(new PulsePool(3))
    for (const event of [universe(['BTC']), context('BTC')]) market.apply(event)
    const after = market.coin('BTC')
    after?.of(volatilityBars).restore(before.of(volatilityBars).save(), before)
    expect(after?.of(volatilityBars).realised()['24h'].bars).toBe(96)
    if (after === undefined) throw new Error('BTC is listed')
    const identity = {
      version: 1,
      renderedAtMs: NOW_MS,
      snapshotId: 'snp_test',
      engineVersion: '0',
    }
    const document = volatility.render(
      after,
      { key: documentKey('volatility', 'BTC'), ...identity },
      market,
    )
    expect(viewOf(document, '')?.kind).toBe('low-coverage')
  })

  test('the age of the price is that of the context', () => {
    const later = { timeExchangeMs: NOW_MS + 1_000, timeReceivedMs: NOW_MS + 1_000 }
    const mark: MarketEvent = { kind: 'mark', coin: 'BTC', markPrice: 1, ...later }
    const document = renderCoin(volatility, 'BTC', [...candles, context('BTC'), mark])
    expect(viewOf(document, '')).toMatchObject({
      inputs: expect.arrayContaining([
        expect.objectContaining({ name: 'mark', confirmedAtMs: NOW_MS }),
      ]),
    })
  })

  test('is not sold below three quarters of a day', () => {
    const document = renderCoin(volatility, 'BTC', [context('BTC')])
    expect(viewOf(document, '')?.kind).not.toBe('answer')
  })
})

describe('bars of volatility', () => {
  test('of 15m come back from a checkpoint', () => {
    const saved = trackerOf(candles).save()
    const restored = new VolatilityBars()
    expect(restored.restore(saved, coinOf(candles))).toBe(true)
    expect(restored.realised()['24h']).toEqual(trackerOf(candles).realised()['24h'])
  })

  test('of another version are not restored', () => {
    expect(new VolatilityBars().restore(Float64Array.of(1, 2, 3), coinOf(candles))).toBe(false)
  })

  test.each([
    { what: 'between two steps', damaged: (step: number) => step - 0.5 },
    { what: 'not a number', damaged: () => Number.NaN },
  ])('with a step $what are refused, and candles fill the windows', ({ damaged }) => {
    const saved = trackerOf(candles).save()
    const last = saved.length - 5
    saved[last] = damaged(saved[last] as number)
    const coin = coinOf(candles)
    const tracker = coin.of(volatilityBars)
    expect(tracker.restore(saved, coin)).toBe(false)
    for (const bar of quarters) tracker.closed('15m', bar)
    expect(tracker.realised()['24h'].bars).toBe(96)
  })

  test.each([
    { what: 'far in the future', damaged: (step: number) => step + 1_000_000 },
    { what: 'just behind the last closed bar', damaged: (step: number) => step + 1 },
  ])('with a step $what are left out, and the others come back', ({ damaged }) => {
    const saved = trackerOf(candles).save()
    const last = saved.length - 5
    saved[last] = damaged(saved[last] as number)
    const restored = new VolatilityBars()
    expect(restored.restore(saved, coinOf(candles))).toBe(true)
    expect(restored.realised()['24h'].bars).toBe(95)
  })

  test('come back from a checkpoint with a bar that a lost connection reopened', () => {
    const coin = coinOf(candles)
    const endMs = BOUNDARY_MS + timeframeMs['15m']
    const forming = { ...(quarters.at(-1) as Bar), openTimeMs: BOUNDARY_MS }
    coin.ladder.live(forming, NOW_MS)
    coin.ladder.advance(endMs + 5_000)
    expect(coin.ladder.closedUntilMs).toBe(endMs)
    coin.ladder.interrupt(endMs + 6_000)
    expect(coin.ladder.closedUntilMs).toBe(BOUNDARY_MS)
    const restored = new VolatilityBars()
    expect(restored.restore(coin.of(volatilityBars).save(), coin)).toBe(true)
    expect(restored.realised()['24h'].bars).toBe(95)
  })

  test('of an hour that is still forming are not taken from history', () => {
    const bars = new VolatilityBars()
    const forming = { ...(hours.at(-1) as Bar), openTimeMs: BOUNDARY_MS }
    bars.apply({ ...hourly(), bars: [...hours.slice(0, -1), forming] })
    const whole = new VolatilityBars()
    whole.apply({ ...hourly(), bars: hours.slice(0, -1) })
    expect(bars.realised()['7d']).toEqual(whole.realised()['7d'])
  })

  test('of an hour that has just ended are not taken, because it may still change', () => {
    const bars = new VolatilityBars()
    const last = hours.at(-1) as Bar
    bars.apply({ ...hourly(), timeExchangeMs: last.openTimeMs + HOUR_MS + 1_000 })
    const whole = new VolatilityBars()
    whole.apply({ ...hourly(), bars: hours.slice(0, -1) })
    expect(bars.realised()['7d']).toEqual(whole.realised()['7d'])
  })

  test('give one forecast for one state of the closes', () => {
    const forecasts = hourlyForecasts.create()
    const closes = new HourlyCloses()
    closes.apply(hourly())
    expect(forecasts.of(closes)).toBe(forecasts.of(closes))
  })
})

function hourly() {
  return {
    kind: 'hourly-history',
    coin: 'BTC',
    bars: hours,
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
  } as const
}

function answerOf(events: readonly MarketEvent[]): Static<typeof VolatilityAnswer> {
  const document = renderCoin(volatility, 'BTC', [context('BTC'), ...events])
  const view = viewOf(document, '')
  if (view?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(view)}`)
  const facts = { nowMs: NOW_MS, executionMs: 0.1, coinsAvailable: 1 }
  const text = fillDocument(document, view, facts).toString()
  const answer = JSON.parse(text) as Static<typeof VolatilityAnswer>
  expect([...Compile(VolatilityAnswer).Errors(answer)]).toEqual([])
  return answer
}

function coinOf(events: readonly MarketEvent[]) {
  const market = newMarket(new PulsePool(3))
  for (const event of [universe(['BTC']), context('BTC'), ...events]) market.apply(event)
  const coin = market.coin('BTC')
  if (coin === undefined) throw new Error('BTC is listed')
  return coin
}

function trackerOf(events: readonly MarketEvent[]): VolatilityBars {
  return coinOf(events).of(volatilityBars)
}

/** The closes of the hourly history, and those of the candles after them. */
function newestCloses(): number[] {
  const closes = new HourlyCloses()
  const fromCandles = inHours(quarters.filter(({ openTimeMs }) => openTimeMs < BOUNDARY_MS))
  closes.apply({ ...hourly(), bars: [...fromCandles, ...hours] })
  return Array.from({ length: CLOSES_READ }, (_, at) =>
    closes.close(closes.newestHour - CLOSES_READ + 1 + at),
  )
}

/** Whole hours of quarters. */
function inHours(bars: readonly Bar[]): Bar[] {
  const byHour = Map.groupBy(bars, ({ openTimeMs }) => Math.floor(openTimeMs / HOUR_MS))
  return [...byHour.values()]
    .filter((of) => of.length === 4)
    .map((of) => ({
      ...(of[0] as Bar),
      high: Math.max(...of.map(({ high }) => high)),
      low: Math.min(...of.map(({ low }) => low)),
      close: of.at(-1)?.close ?? 0,
    }))
}
