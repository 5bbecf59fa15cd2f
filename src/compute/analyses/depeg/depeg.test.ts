import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { ExternalEvent, MeasureRow, SourceId } from '../../../domain/external.ts'
import { Processor } from '../../processor.ts'
import { exchangeQuote, oraclePrice, pegTape } from '../../testing/peg-tape.ts'
import { NOW_MS } from '../../testing/tape.ts'
import { depeg } from './depeg.ts'
import type { GatheredPeg } from './gathered-peg.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const calm = pegTape(NOW_MS)

describe('/depeg', () => {
  test('satisfies the published schema, with all sources and with one', () => {
    const schema = Compile(depeg.contract.document)
    for (const events of [[...calm, supply(-1, 2)], [oraclePrice({ ema: null }, NOW_MS)]])
      expect([...schema.Errors(answer([events]).body)]).toEqual([])
  })

  test('the worked example: 0.99962 with a confidence of 0.00011', () => {
    const price = oraclePrice({ priceUsd: 0.99962, confidenceUsd: 0.00011 }, NOW_MS)
    const { usdc } = answer([[price]]).body
    expect(usdc).toMatchObject({
      price_usd: 0.99962,
      deviation_bps: 3.8,
      signed_deviation_bps: -3.8,
      deviation_pct: -0.038,
      peg_status: 'HEALTHY',
      risk_level: 'low',
    })
    expect(usdc.confidence_usd).toBeCloseTo(0.00011, 9)
  })

  test('three classes give grade A; a missing class lowers it', () => {
    expect(answer([calm]).body.meta).toMatchObject({
      warnings: [],
      quality: { grade: 'A', coverage_pct: 100 },
      as_of: { oracle: iso(0), exchange: iso(0), cross: iso(0) },
    })
    const two = answer([pegTape(NOW_MS, () => 1, new Set<SourceId>(['kraken']))]).body
    expect(two.meta.quality).toMatchObject({
      grade: 'C',
      coverage_pct: 66.667,
      reasons: ['low_coverage'],
    })
    const one = answer([[oraclePrice({}, NOW_MS)]]).body
    expect(one.meta.quality).toMatchObject({ grade: 'C', coverage_pct: 33.333 })
    expect(one.meta.warnings).toEqual(['low_coverage', 'feed_degraded'])
    expect(one.agreement).toMatchObject({ classes: 1, confirmed: false })
  })

  test('wide oracle confidence gives a warning', () => {
    const unsure = calm.map((event) =>
      event.kind === 'oracle-price' && event.confidenceUsd !== null
        ? { ...event, confidenceUsd: 0.0021 }
        : event,
    )
    const { meta, confidence, usdc } = answer([unsure]).body
    expect(meta.warnings).toEqual(['wide_oracle_confidence'])
    expect(confidence.bps, 'the median of the classes').toBeLessThan(15)
    expect(usdc.peg_status).toBe('HEALTHY')
  })

  test('one wrong exchange is listed as disagreeing and does not move the price', () => {
    const lying = pegTape(NOW_MS, (source) => (source === 'kraken' ? 1.05 : 1))
    const { usdc, agreement, meta } = answer([lying, lying, lying, lying]).body
    expect(usdc).toMatchObject({ signed_deviation_bps: 0, peg_status: 'HEALTHY' })
    expect(agreement).toMatchObject({
      classes: 2,
      agreeing: 1,
      disagreeing: ['exchange'],
      confirmed: false,
      dispersion_bps: 500,
    })
    expect(meta.quality).toMatchObject({ grade: 'C', reasons: ['low_coverage'] })
    const view = render(gatheredFrom([lying])).views['']
    const inputs = view?.kind === 'answer' ? view.inputs : []
    expect(inputs.find(({ isLoadBearing }) => isLoadBearing)?.name).toBe('oracle')
  })

  test('two equal classes that disagree give no answer', () => {
    const contrary = [oraclePrice({}, NOW_MS), exchangeQuote('kraken', 'USDC', 'USD', 1.05, NOW_MS)]
    expect(render(gatheredFrom([contrary])).views['']).toMatchObject({
      kind: 'missing-input',
      input: 'usdc_price',
      detail: expect.stringContaining('disagree on the price'),
    })
  })

  test('a polled oracle is judged by its own cadence, even after a faster one stopped', () => {
    const polled = { network: 'redstone', heartbeatMs: 30_000 } as const
    const events = [
      oraclePrice({}, NOW_MS - 60 * SECOND_MS),
      oraclePrice(polled, NOW_MS - 21 * SECOND_MS),
    ]
    const view = render(gatheredFrom([events])).views['']
    expect(view?.kind === 'answer' && view.inputs[0]).toMatchObject({
      name: 'oracle',
      cadenceMs: 30_000,
    })
    expect(answer([events]).body.meta.warnings, 'one class, not late').toHaveLength(2)
  })

  test.each([
    { what: 'nothing was heard', events: [] },
    { what: 'every source is too old', events: pegTape(NOW_MS - 27 * HOUR_MS) },
    { what: 'no price is one', events: [oraclePrice({ priceUsd: Number.NaN }, NOW_MS)] },
    {
      what: 'USDT is known by way of USDC alone',
      events: [exchangeQuote('binance', 'USDC', 'USDT', 1, NOW_MS)],
    },
  ])('has no answer when $what', ({ events }) => {
    expect(render(gatheredFrom([events])).views['']).toMatchObject({
      kind: 'low-coverage',
      have: 0,
      need: 1,
    })
  })

  test('is not sold once all its sources are too old', () => {
    const limitOf = (events: readonly ExternalEvent[]) => {
      const view = render(gatheredFrom([events])).views['']
      const inputs = view?.kind === 'answer' ? view.inputs : []
      return inputs.find(({ isLoadBearing }) => isLoadBearing)?.ageMsMax
    }
    expect(limitOf([oraclePrice({}, NOW_MS)])).toBe(120_000)
    const round = { network: 'chainlink', heartbeatMs: 24 * HOUR_MS } as const
    expect(limitOf([oraclePrice(round, NOW_MS - HOUR_MS)])).toBe(26 * HOUR_MS)
    expect(limitOf([exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS)])).toBe(MINUTE_MS)
  })

  test('a discount is a haircut on margin and inflates prices in USDC', () => {
    const at = (usd: number) =>
      answer([pegTape(NOW_MS, (_, asset) => (asset === 'USDC' ? usd : 1))]).body
    expect(at(0.95)).toMatchObject({
      direction: 'discount',
      venue_impact: { collateral_haircut_bps: 500, perp_price_inflation_bps: 526.32 },
    })
    expect(at(1.02)).toMatchObject({
      direction: 'premium',
      venue_impact: { collateral_haircut_bps: 0, perp_price_inflation_bps: -196.08 },
    })
    expect(at(1).direction).toBe('none')
  })

  test('level, duration and health follow six minutes at 120 bps', () => {
    const seconds = Array.from({ length: 361 }, (_, at) =>
      pegTape(NOW_MS - (360 - at) * SECOND_MS, (_source, asset) => (asset === 'USDC' ? 0.988 : 1)),
    )
    const { body } = answer(seconds)
    expect(body).toMatchObject({
      level: 3,
      level_name: 'depeg',
      level_since_iso: iso(MINUTE_MS),
      usdc: { peg_status: 'WARNING', risk_level: 'high', since_iso: iso(6 * MINUTE_MS) },
      duration: {
        below_10_bps_seconds: 360,
        below_25_bps_seconds: 360,
        below_50_bps_seconds: 360,
        below_100_bps_seconds: 360,
      },
    })
    // 45 ln(120 / 5) / ln(500 / 5) + 20 ln(360 / 300) / ln(86400 / 300); nothing else is amiss.
    const lost = 45 * (Math.log(24) / Math.log(100)) + 20 * (Math.log(1.2) / Math.log(288))
    expect(body.health_score).toBeCloseTo(100 - lost, 2)
    expect(body.range_24h).toMatchObject({ low_usd: 0.988, max_deviation_bps: -120 })
    expect(body.trend.max_abs_deviation_bps_1h).toBe(120)
  })

  test('the average of the oracles is compared with the price', () => {
    const ema = { priceUsd: 0.999, confidenceUsd: 0.0001 }
    const { body } = answer([[oraclePrice({ priceUsd: 0.9985, ema }, NOW_MS)]])
    expect(body.ema).toEqual({ price_usd: 0.999, deviation_bps: -10, momentum_bps: -5 })
    expect(answer([[oraclePrice({ ema: null }, NOW_MS)]]).body.ema).toBeNull()
  })

  test.each([
    { ageSeconds: 59, status: 'up', active: 1 },
    { ageSeconds: 60, status: 'degraded', active: 1 },
    { ageSeconds: 300, status: 'down', active: 0 },
  ])('an oracle that published $ageSeconds s ago is $status', ({ ageSeconds, status, active }) => {
    const feed = oraclePrice({ heartbeatMs: HOUR_MS }, NOW_MS - ageSeconds * SECOND_MS)
    expect(answer([[feed]]).body.infrastructure).toEqual({
      oracle_status: status,
      feeds_active: active,
      feeds_total: 1,
    })
  })

  test('without an oracle oracle_status is unknown', () => {
    const { body } = answer([[exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS)]])
    expect(body.infrastructure).toMatchObject({ oracle_status: 'unknown', feeds_total: 0 })
  })

  test('an unused source has a reason', () => {
    const wide = { ...exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS), bid: 0.97 }
    const { sources, cross_check } = answer([[oraclePrice({}, NOW_MS), wide]]).body
    expect(sources.at(-1)).toMatchObject({
      id: 'kraken:USDC/USD',
      weight: 0,
      used: false,
      reason: 'wide_spread',
    })
    expect(cross_check).toEqual([])
  })

  test('shows the change of the supply', () => {
    const { flow, health_score } = answer([[...calm, supply(-4.5, -8)]]).body
    expect(flow).toEqual({
      supply_usd: 40e9,
      change_24h_pct: -4.5,
      change_7d_pct: -8,
      as_of_iso: iso(0),
    })
    expect(health_score, '10 x (4.5 - 1) / (8 - 1)').toBeCloseTo(95, 3)
  })

  test('shows no change of a supply figure that is older than six hours', () => {
    const at = (ageMs: number) => {
      const stamp = { timeExchangeMs: NOW_MS - ageMs, timeReceivedMs: NOW_MS - ageMs }
      return answer([[...calm, { ...supply(-4.5, -8), ...stamp }]]).body
    }
    expect(at(6 * HOUR_MS)).toMatchObject({ flow: { change_24h_pct: -4.5 }, health_score: 95 })
    expect(at(6 * HOUR_MS + 1)).toMatchObject({ flow: null, health_score: 100 })
  })

  test('history counts the known minutes, and is null below a day of them', () => {
    const at = (minutes: number) => answer([[remembered(minutes), ...calm]]).body
    const short = at(1_000)
    expect(short.history).toMatchObject({ zscore: null, percentile: null, n: 1_001 })
    expect(short.history.window_hours).toBe(16.683)
    const long = at(2_000)
    expect(long.history).toMatchObject({ n: 2_001, window_hours: 33.35 })
    // Half of the minutes are at 0.9999 and half at 1.0001: now is between them.
    expect(long.history.percentile).toBeCloseTo(50, 1)
    expect(long.history.zscore).toBeCloseTo(0, 2)
  })

  test('windows count the minutes with data, not those of an outage', () => {
    const minutesAgo = [1_430, 1_429, 90, 30, 5]
    const rows = minutesAgo.map((ago) => ({ timeMs: MINUTE_NOW_MS - ago * MINUTE_MS, value: 1 }))
    const series = ['depeg/price', 'depeg/low', 'depeg/high'].map((name) => history(name, rows))
    const { body } = answer([[...series, ...calm]])
    expect(body.trend.n_1h).toBe(3)
    expect(body.range_24h).toMatchObject({ n: 6, window_hours: 0.1 })
    expect(body.history).toMatchObject({ n: 6, window_hours: 0.1 })
  })

  test('a window has no more minutes than its length', () => {
    const rows = Array.from({ length: 1_500 }, (_, at) => ({
      timeMs: MINUTE_NOW_MS - at * MINUTE_MS,
      value: 1,
    }))
    const series = ['depeg/price', 'depeg/low', 'depeg/high'].map((name) => history(name, rows))
    const { body } = answer([[...series, ...calm]])
    expect(body.trend.n_1h).toBe(60)
    expect(body.range_24h).toMatchObject({ n: 1_440, window_hours: 24 })
  })

  test('the z-score has no finer digits than its minutes support', () => {
    const rows = Array.from({ length: 2_000 }, (_, at) => ({
      timeMs: MINUTE_NOW_MS - (2_000 - at) * MINUTE_MS,
      value: 1 + (at % 3) * 1e-4,
    }))
    const { zscore } = answer([[history('depeg/price', rows), ...calm]]).body.history
    // (0 - 1) / root(2 / 3) = -1.2247.
    expect(zscore).toBe(-1.224)
  })

  test('the slope is the least-squares slope of the last hour', () => {
    const rows = Array.from({ length: 59 }, (_, at) => ({
      timeMs: MINUTE_NOW_MS - (59 - at) * MINUTE_MS,
      value: 1 - (at - 59) * 1e-6,
    }))
    expect(answer([[history('depeg/price', rows), ...calm]]).body.trend.slope_bps_per_hour).toBe(
      -0.6,
    )
    const few = rows.slice(-28)
    expect(
      answer([[history('depeg/price', few), ...calm]]).body.trend.slope_bps_per_hour,
    ).toBeNull()
  })

  test('gathered data give the same bytes in another thread', () => {
    const gathered = gatheredFrom([calm])
    expect(render(structuredClone(gathered))).toEqual(render(gathered))
  })

  test('stays below 3,000 tokens with every source', () => {
    const { text } = answer([[...calm, supply(1, 1)]])
    console.log(`/depeg: ${countTokens(text)} tokens, ${text.length} bytes`)
    expect(countTokens(text)).toBeLessThan(3_000)
  })
})

const MINUTE_NOW_MS = Math.floor(NOW_MS / MINUTE_MS) * MINUTE_MS

function iso(agoMs: number): string {
  return new Date(NOW_MS - agoMs).toISOString()
}

/** 40 billion, after a change of so many percent in a day and in a week. */
function supply(dayPct: number, weekPct: number): ExternalEvent {
  return {
    kind: 'stablecoin-supply',
    asset: 'USDC',
    supplyUsd: 40e9,
    dayAgoUsd: 40e9 / (1 + dayPct / 100),
    weekAgoUsd: 40e9 / (1 + weekPct / 100),
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
  }
}

/** So many minutes before this one, by turns a bp below and a bp above a dollar. */
function remembered(minutes: number): ExternalEvent {
  const rows = Array.from({ length: minutes }, (_, at) => ({
    timeMs: MINUTE_NOW_MS - (minutes - at) * MINUTE_MS,
    value: at % 2 === 0 ? 0.9999 : 1.0001,
  }))
  return history('depeg/price', rows)
}

function history(series: string, rows: readonly MeasureRow[]): ExternalEvent {
  return {
    kind: 'measure-history',
    series,
    rows,
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
  }
}

/** As an agent reads it: JSON of a shape that the schema vouches for. */
// biome-ignore lint/suspicious/noExplicitAny: the published schema is checked against it above
type Body = any

/** One list of events a second, the last at `NOW_MS`. */
function gatheredFrom(seconds: readonly (readonly ExternalEvent[])[]): GatheredPeg {
  const processor = new Processor({ coin: [], market: [depeg] }, '0.0.0')
  for (const [at, events] of seconds.entries()) {
    processor.process(events)
    processor.advance(NOW_MS - (seconds.length - 1 - at) * SECOND_MS)
  }
  return processor.gather('depeg', NOW_MS).gathered as GatheredPeg
}

function render(gathered: GatheredPeg): Document {
  return depeg.render(gathered, {
    key: 'depeg/*',
    version: 1,
    renderedAtMs: NOW_MS,
    snapshotId: 'snp_1',
    engineVersion: '0.0.0',
  })
}

function answer(seconds: readonly (readonly ExternalEvent[])[]): { text: string; body: Body } {
  const document = render(gatheredFrom(seconds))
  const view = document.views['']
  if (view?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(view)}`)
  const facts = { nowMs: NOW_MS, executionMs: 0.1, coinsAvailable: 1 }
  const text = fillDocument(document, view, facts).toString('utf8')
  return { text, body: JSON.parse(text) }
}
