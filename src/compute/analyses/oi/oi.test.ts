import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { renderCoin } from '../../testing/render-coin.ts'
import { BOUNDARY_MS, context, NOW_MS, reading, universe } from '../../testing/tape.ts'
import { oi } from './oi.ts'
import { OpenInterestAnswer } from './oi-schema.ts'

/** Whatever is read has just been rendered. */
const everySecond = { ...oi, periodMs: 1_000 }
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const now = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }

/** Minutes before the boundary, contracts, mark. */
type Reading = readonly [number, number, number]

/** A month of whole hours, all of 1,000 contracts at 100 USD. */
const month: readonly Reading[] = Array.from({ length: 720 }, (_, hour) => [hour * 60, 1_000, 100])

describe('open interest', () => {
  test('a worked example by hand', () => {
    const readings: Reading[] = [
      ...month.filter(([minutes]) => ![0, 60, 240].includes(minutes)),
      [240, 1_250, 80],
      [60, 800, 100],
      [0, 1_000, 100],
      [5, 950, 100],
    ]
    const { price, oi: shown } = read([
      history(readings),
      context('BTC', { openInterestBase: 1_000, markPrice: 90, dayNotional: 360_000 }),
    ])
    expect(price).toBe(90)
    expect(shown).toMatchObject({
      current: 1_000,
      notional_usd: 90_000,
      delta_5m_pct: 5.2632,
      delta_1h: 25,
      delta_4h: -20,
      delta_24h: 0,
      delta_7d_pct: 0,
      notional_delta_1h_pct: 12.5,
      // 90,000 against 100,000.
      notional_delta_4h_pct: -10,
      notional_delta_24h_pct: -10,
      price_change_1h: -10,
      price_change_4h: 12.5,
      delta_windows_seconds: {
        delta_5m: 305,
        delta_1h: 3_605,
        delta_4h: 14_405,
        delta_24h: 86_405,
      },
      // Of 720 readings one is below and one above.
      percentile: 50,
      percentile_window_hours: 720,
      percentile_readings: 720,
      window_high: 1_250,
      window_low: 800,
      trend: 'FALLING',
      trend_threshold_basis: 'own_moves',
      price_oi_divergence: 'BEARISH_DIV',
      positioning: 'SHORT_COVERING',
      oi_to_volume_24h: 0.25,
      share_pct: 100,
    })
    // Mean 1,000 + 50/720; squares 250^2 and 200^2.
    const deviation = Math.sqrt((62_500 + 40_000) / 720 - (50 / 720) ** 2)
    expect(shown.zscore).toBeCloseTo(-50 / 720 / deviation, 2)
    // Over 4 h: -20 % up to now, -20 % up to 1 h ago, 25 % up to 4 h ago, and 713 times nothing.
    const moved = Math.sqrt((400 + 400 + 625) / 716 - (15 / 716) ** 2)
    expect(shown.trend_threshold_pct).toBeCloseTo(2 * moved, 4)
    expect(shown.history).toHaveLength(24)
    expect(shown.history.slice(-2)).toEqual([
      { timestamp_iso: new Date(BOUNDARY_MS - HOUR_MS).toISOString(), current: 800 },
      { timestamp_iso: new Date(BOUNDARY_MS).toISOString(), current: 1_000 },
    ])
  })

  const contracts = fc.oneof(fc.constant(0), fc.double({ min: 1e-5, max: 1e9, noNaN: true }))
  const mark = fc.double({ min: 1e-6, max: 1e6, noNaN: true })
  const readings = fc.uniqueArray(fc.tuple(fc.nat(11_000), contracts, mark), {
    selector: ([minutes]) => minutes,
    maxLength: 60,
  })

  property.prop([readings, contracts, mark])(
    'the answer satisfies its schema for any history and its own identities',
    (past, openInterestBase, markPrice) => {
      const figures = context('BTC', { openInterestBase, markPrice })
      // The last word on a minute counts.
      const all: Reading[] = [[5, 1234.5, 110], ...past]
      const document = render([history(past), reading('BTC'), figures])
      const { price, oi: shown } = filled(document)
      expect([...schema.Errors(filled(document))]).toEqual([])
      expect(shown.current).toBe(openInterestBase)
      const notionalUsd = shown.notional_usd ?? Number.NaN
      expect(Math.abs(notionalUsd - shown.current * price)).toBeLessThanOrEqual(
        0.005 + 1e-7 * notionalUsd,
      )
      const changes = [
        ['5m', shown.delta_5m_pct, shown.price_change_5m_pct],
        ['1h', shown.delta_1h, shown.price_change_1h],
        ['4h', shown.delta_4h, shown.price_change_4h],
        ['24h', shown.delta_24h, shown.price_change_24h],
        ['7d', shown.delta_7d_pct, shown.price_change_7d_pct],
      ] as const
      for (const [window, delta, priceChange] of changes) {
        const seconds = shown.delta_windows_seconds[`delta_${window}`]
        const thenMs = NOW_MS - (seconds ?? 0) * 1_000
        const then = all.find(([minutes]) => BOUNDARY_MS - minutes * MINUTE_MS === thenMs)
        if (seconds === null || then === undefined) {
          expect([seconds, delta, priceChange]).toEqual([null, null, null])
          continue
        }
        const near = (shown: number | null, exact: number) =>
          expect(Math.abs((shown ?? Number.NaN) - exact)).toBeLessThanOrEqual(
            0.00006 + 1e-9 * Math.abs(exact),
          )
        if (then[1] === 0) expect(delta, 'from nothing').toBeNull()
        else near(delta, (openInterestBase / then[1] - 1) * 100)
        near(priceChange, (markPrice / then[2] - 1) * 100)
      }
    },
  )

  test('the share is of the notional of all listed coins', () => {
    const events = [
      reading('BTC'),
      reading('kPEPE'),
      context('BTC', { openInterestBase: 3, markPrice: 100 }),
      context('kPEPE', { openInterestBase: 100_000, markPrice: 0.01 }),
      // Delisted: not of the market.
      context('OLD', { openInterestBase: 1e9 }),
    ]
    const market = ['BTC', 'kPEPE']
    const share = (coin: string) => filled(renderCoin(oi, coin, events, market)).oi.share_pct
    expect(share('BTC')).toBeCloseTo((300 / 1_300) * 100, 4)
    expect(share('kPEPE')).toBeCloseTo((1_000 / 1_300) * 100, 4)
  })

  test.each([
    { known: 9, of: 10, share: 11.1111 },
    { known: 8, of: 9, share: null },
  ])('with $known of $of coins known the share is $share', ({ known, of, share }) => {
    const names = Array.from({ length: of }, (_, index) => (index === 0 ? 'BTC' : `C${index}`))
    const events = [reading('BTC'), ...names.slice(0, known).map((name) => context(name))]
    const shown = filled(renderCoin(oi, 'BTC', events, names)).oi.share_pct
    expect(shown).toBe(share)
  })

  test.each([
    { ageMs: 300_000, share: 10 },
    { ageMs: 300_001, share: null },
  ])('figures of other coins from $ageMs ms ago give $share', ({ ageMs, share }) => {
    const names = Array.from({ length: 10 }, (_, index) => (index === 0 ? 'BTC' : `C${index}`))
    const old = { timeExchangeMs: NOW_MS - ageMs, timeReceivedMs: NOW_MS - ageMs }
    const contexts = names.map((name) => context(name, ['C1', 'C2'].includes(name) ? old : {}))
    const shown = filled(renderCoin(oi, 'BTC', [reading('BTC'), ...contexts], names)).oi.share_pct
    expect(shown).toBe(share)
  })

  test.each([
    { what: 'nothing is open', figures: { openInterestBase: 0 }, nothing: 'share_pct' },
    { what: 'nothing was traded', figures: { dayNotional: 0 }, nothing: 'oi_to_volume_24h' },
  ] as const)('where $what, $nothing is null', ({ figures, nothing }) => {
    expect(read([reading('BTC'), context('BTC', figures)]).oi[nothing]).toBeNull()
  })

  test.each([
    { count: 19, ranked: false },
    { count: 20, ranked: true },
  ])('$count readings are ranked: $ranked', ({ count, ranked }) => {
    const { oi: shown } = read([history(month.slice(0, count)), context('BTC')])
    expect(shown.percentile_readings).toBe(count)
    expect(shown.percentile_window_hours).toBe(count)
    for (const value of [shown.percentile, shown.window_high, shown.window_low])
      expect(value === null).toBe(!ranked)
  })

  test('readings that are all equal have a rank and no z-score', () => {
    const { oi: shown } = read([history(month), context('BTC', { openInterestBase: 1_000 })])
    expect(shown).toMatchObject({
      percentile: 50,
      zscore: null,
      trend: 'FLAT',
      trend_threshold_pct: 0.5,
    })
  })

  test('with the shortest change only, all others are null', () => {
    const document = render([reading('BTC'), context('BTC')])
    const { oi: shown } = filled(document)
    expect(shown).toMatchObject({
      current: 1234.5,
      delta_5m_pct: 0,
      delta_4h: null,
      price_change_4h: null,
      percentile: null,
      zscore: null,
      trend: 'UNKNOWN',
      price_oi_divergence: 'UNKNOWN',
      positioning: 'UNKNOWN',
      history: [],
    })
    expect(document.views['']).toMatchObject({
      coveragePct: 0,
      warnings: ['partial_data', 'short_history'],
    })
  })

  test.each([
    // The boundary was five seconds ago; a change over five minutes takes four and a half.
    { what: 'no reading yet', readings: [], readySeconds: 60 - 5 + 270 },
    { what: 'a reading of a minute ago', readings: [reading('BTC', 1)], readySeconds: 270 - 65 },
    {
      what: 'readings of four and three minutes ago',
      readings: [reading('BTC', 4), reading('BTC', 3)],
      readySeconds: 270 - 245,
    },
  ])(
    'with $what there is no change to sell, and it says when there will be',
    ({ readings, readySeconds }) => {
      expect(render([...readings, context('BTC')]).views['']).toEqual({
        kind: 'low-coverage',
        missing: 'changes of open interest',
        have: 0,
        need: 1,
        readyAtMs: NOW_MS + 1_000 * readySeconds,
      })
    },
  )

  test('where nothing was ever open there is no time at which a change is ready', () => {
    const nothing = month.map(([minutes, , mark]): Reading => [minutes, 0, mark])
    const events = [history([...nothing, [5, 0, 100]]), context('BTC', { openInterestBase: 0 })]
    expect(render(events).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'changes of open interest',
      have: 0,
      need: 1,
      detail: 'Open interest was 0 at the start of every window, so there is no change to report.',
    })
  })

  test('a month of readings has no warnings', () => {
    const answer = render([history(month), context('BTC')]).views['']
    expect(answer).toMatchObject({ kind: 'answer', coveragePct: 100, warnings: [] })
  })

  test('without venue data there is no answer', () => {
    const answer = render([history(month)]).views['']
    expect(answer).toEqual({ kind: 'missing-input', input: 'open_interest' })
  })

  test('uses open interest and mark price of one instant', () => {
    const answer = render([reading('BTC'), context('BTC')]).views['']
    expect(answer?.kind === 'answer' && answer.inputs).toMatchObject([
      { name: 'open_interest', isLoadBearing: true, confirmedAtMs: NOW_MS },
      { name: 'mark', isLoadBearing: true, confirmedAtMs: NOW_MS },
    ])
  })

  test('a coin that is delisted is not rendered', () => {
    const processor = new Processor({ coin: [everySecond], market: [] }, '0.0.0')
    processor.process([universe([], ['BTC']), history(month), context('BTC')])
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
      expect([...processor.publish(NOW_MS)]).toEqual([])
  })

  test('a gap of two hours makes the changes over it null', () => {
    const minutes = Array.from({ length: 1_500 }, (_, minute): Reading => [minute, 1_000, 100])
    const gap = minutes.filter(([minute]) => minute < 20 || minute > 140)
    const { oi: shown } = read([history(gap), context('BTC')])
    expect(shown.delta_1h).toBeNull()
    expect(shown.delta_4h).not.toBeNull()
    expect(shown.positioning).not.toBe('UNKNOWN')
  })
})

type Body = Static<typeof OpenInterestAnswer>

function history(readings: readonly Reading[]): MarketEvent {
  const samples = readings
    .toSorted(([one], [other]) => other - one)
    .map(([minutes, openInterestBase, markPrice]) => ({
      coin: 'BTC',
      timeMs: BOUNDARY_MS - minutes * MINUTE_MS,
      markPrice,
      oraclePrice: markPrice,
      openInterestBase,
      dayNotional: 1,
      fundingRateHourly: 0,
      premium: null,
      spreadBps: null,
      impactSpreadBps: null,
    }))
  return { kind: 'sample-history', coin: 'BTC', samples, ...now }
}

function render(events: readonly MarketEvent[]): Document {
  return renderCoin(oi, 'BTC', events)
}

function read(events: readonly MarketEvent[]): Body {
  return filled(render(events))
}

const schema = Compile(OpenInterestAnswer)

function filled(document: Document): Body {
  const answer = document.views['']
  if (answer?.kind !== 'answer') throw new Error(`no answer but ${answer?.kind}`)
  const times = { nowMs: NOW_MS, executionMs: 0.1, coinsAvailable: 1 }
  return JSON.parse(fillDocument(document, answer, times).toString('utf8')) as Body
}
