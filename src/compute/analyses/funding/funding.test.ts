import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import { viewOf, viewsOf } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import type { FundingRow } from '../../../domain/history.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { renderCoin } from '../../testing/render-coin.ts'
import { hasSharedFundings, sharedFundings } from '../../testing/shared-fundings.ts'
import { BOUNDARY_MS, context, NOW_MS, universe } from '../../testing/tape.ts'
import { funding } from './funding.ts'
import { FundingAnswer } from './funding-schema.ts'
import { lookbackHoursMax, lookbackParameter } from './lookback-parameter.ts'

/** Whatever is read has just been rendered. */
const everySecond = { ...funding, periodMs: 1_000 }
const HOUR_MS = 3_600_000
const now = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
const rateOf = fc.double({ min: -0.04, max: 0.04, noNaN: true })
/** With the eight decimals of an answer. */
const printedRate = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((units) => units / 1e8)

describe('funding', () => {
  test('a worked example by hand', () => {
    // A rate of 2e-5 for 720 hours but the last four, which had 6e-5; 9e-5 is running.
    const rates = Array.from({ length: 720 }, (_, hour) => (hour < 716 ? 2e-5 : 6e-5))
    const { funding: shown } = read([history(rates), context('BTC', { fundingRateHourly: 9e-5 })])
    expect(shown).toMatchObject({
      current_rate: 0.00009,
      interval_hours: 1,
      // 0.00009 x 24 x 365 x 100.
      annualized_pct: 78.84,
      predicted_rate: 0.00009,
      next_funding_iso: new Date(BOUNDARY_MS + HOUR_MS).toISOString(),
      lookback_hours: 24,
      records: 24,
      // (20 x 2e-5 + 4 x 6e-5) / 24 = 6.4e-4 / 24.
      average_rate: 0.00002667,
      median_rate: 0.00002,
      max_rate: 0.00006,
      min_rate: 0.00002,
      // 4e-5 x sqrt(1/6 x 5/6).
      stdev_rate: 0.00001491,
      average_annualized_pct: 23.3629,
      cumulative_pct: 0.064,
      positive_pct: 100,
      percentile: 100,
      percentile_window_hours: 720,
      trend: 'RISING',
      bias: 'LONG_PAYING',
      crowding: 'EXTREME',
      flips: 0,
      streak_sign: 'POSITIVE',
      streak_hours: 720,
    })
    // Mean 2e-5 + 4e-5/180, deviation 4e-5 x sqrt(1/180 x 179/180).
    const deviation = 4e-5 * Math.sqrt((1 / 180) * (179 / 180))
    expect(shown.zscore).toBeCloseTo((9e-5 - 2e-5 - 4e-5 / 180) / deviation, 2)
    expect(shown.windows['7d']).toMatchObject({ hours: 168, records: 168, cumulative_pct: 0.352 })
    const ramp = Array.from({ length: 720 }, (_, hour) => hour * 1e-7)
    const { p10_rate, p90_rate } = read([history(ramp), context('BTC')]).funding.windows['30d']
    // Of 720 rates from 0 to 719 units: a tenth and nine tenths of 719.
    expect([p10_rate, p90_rate]).toEqual([7.19e-6, 6.471e-5])
    expect(shown.windows['30d']).toMatchObject({ hours: 720, records: 720, cumulative_pct: 1.456 })
    expect(shown.history).toHaveLength(24)
    expect(shown.history.at(-1)).toEqual({
      timestamp_iso: new Date(BOUNDARY_MS).toISOString(),
      rate: 0.00006,
      premium: 0.0005,
      settled: true,
    })
  })

  property.prop([
    fc.array(fc.option(rateOf, { freq: 9 }), { minLength: 1, maxLength: 40 }),
    rateOf,
  ])('what it prints can be computed from what it prints', (rates, fundingRateHourly) => {
    const events = [history([...rates, 1e-6]), context('BTC', { fundingRateHourly })]
    const { funding: shown } = read(events)
    expect(shown.annualized_pct).toBeCloseTo(shown.current_rate * 24 * 365 * 100, 4)
    expect(shown.average_annualized_pct).toBeCloseTo(shown.average_rate * 24 * 365 * 100, 4)
    const printed = shown.history.map(({ rate }) => rate)
    expect(shown.records).toBe(printed.length)
    const sum = printed.reduce((total, rate) => total + rate, 0)
    expect(shown.cumulative_pct).toBeCloseTo(sum * 100, 3)
    expect(shown.average_rate).toBeCloseTo(sum / printed.length, 7)
    expect(shown.max_rate).toBe(Math.max(...printed))
    expect(shown.min_rate).toBe(Math.min(...printed))
    expect(shown.positive_pct).toBeGreaterThanOrEqual(0)
    expect(shown.windows['30d'].records).toBeGreaterThanOrEqual(shown.records)
  })

  property.prop([fc.array(fc.option(rateOf, { freq: 3 }), { maxLength: 30 }), rateOf])(
    'the answer satisfies its schema for any history',
    (rates, fundingRateHourly) => {
      const document = render([history([...rates, -1e-6]), context('BTC', { fundingRateHourly })])
      expect(schemaErrors(document)).toEqual([])
    },
  )

  // The 20 hours before: 1e-5 above and below 0. Of all 24 the deviation is then about 0.93e-5.
  const before = Array.from({ length: 20 }, (_, hour) => (hour % 2 === 0 ? 1e-5 : -1e-5))

  test.each([
    [0.45e-5, 'FLAT'],
    [0.48e-5, 'RISING'],
    [-0.45e-5, 'FLAT'],
    [-0.48e-5, 'FALLING'],
  ])('four hours of %d after twenty around 0 are %s', (rate, trend) => {
    const last = new Array<number>(4).fill(rate)
    const deviation = Math.sqrt((20e-10 + 4 * rate ** 2) / 24 - (rate / 6) ** 2)
    expect(Math.abs(rate) > 0.5 * deviation, 'the example is one').toBe(trend !== 'FLAT')
    expect(read([history([...before, ...last]), context('BTC')]).funding.trend).toBe(trend)
  })

  test('covers the requested hours, and a bundle holds the same answer', () => {
    const document = render([
      history(Array.from({ length: 720 }, (_, hour) => 1e-6 * (720 - hour))),
      context('BTC'),
    ])
    const { funding: byItself } = filled(document)
    for (let hours = 1; hours <= lookbackHoursMax; hours += 1) {
      const { funding: shown } = filled(document, String(hours))
      // The newest hour has 1e-6, each one before it 1e-6 more.
      expect(shown).toEqual({
        ...byItself,
        lookback_hours: hours,
        records: hours,
        average_rate: expect.closeTo((1e-6 * (hours + 1)) / 2, 8),
        median_rate: expect.closeTo((1e-6 * (hours + 1)) / 2, 8),
        max_rate: expect.closeTo(1e-6 * hours, 8),
        stdev_rate: expect.closeTo(1e-6 * Math.sqrt((hours ** 2 - 1) / 12), 7),
        average_annualized_pct: expect.closeTo(1e-4 * ((hours + 1) / 2) * 24 * 365, 4),
        cumulative_pct: expect.closeTo((1e-4 * hours * (hours + 1)) / 2, 4),
        history: shown.history,
      })
      expect(shown.history).toHaveLength(hours)
      expect(shown.history.at(-1)).toEqual(byItself.history.at(-1))
    }
  })

  test.each(['1', '2', '8', '23', '100', '168'])('can go back %s hours', (hours) => {
    expect(lookbackParameter.valueOf(hours, [])).toBe(hours)
  })

  test.each(['0', '169', '1000', '024', '1.5', '-3', '1e2', ' 8', '+8', '', 'day'])(
    'refuses to go back "%s" hours',
    (hours) => {
      expect(lookbackParameter.valueOf(hours, [])).toBeUndefined()
    },
  )

  test('a week stays within the token budget', () => {
    const rates = Array.from({ length: 720 }, (_, hour) => Math.sin(hour) * 3.7e-5)
    const document = render([history(rates), context('BTC')])
    expect(encode(JSON.stringify(filled(document, '168'))).length).toBeLessThan(20_000)
  })

  test('needs an hour of the last day, and half of the requested hours', () => {
    const kinds = (rates: readonly (number | null)[]) =>
      Object.entries(viewsOf(render([history(rates), context('BTC')]))).map(([view, { kind }]) => [
        view,
        kind,
      ])
    const hours = (count: number, rate: number | null) => new Array<number | null>(count).fill(rate)
    const views = (kindOf: (hours: number) => string) =>
      Array.from({ length: lookbackHoursMax }, (_, at) => [String(at + 1), kindOf(at + 1)])
    expect(kinds([...hours(100, 1e-5), ...hours(24, null)])).toEqual(views(() => 'low-coverage'))
    // Half of the hours asked for are known from sixteen on.
    expect(kinds([...hours(100, 1e-5), ...hours(8, null)])).toEqual(
      views((asked) => (asked < 16 ? 'low-coverage' : 'answer')),
    )
  })

  test('every range lies within the document, also without a known hour', () => {
    const { bytes, parts } = render([context('BTC'), history([null, null])])
    const choices = parts.filter((part) => part.kind === 'choice')
    expect(choices).toHaveLength(3)
    for (const { ends } of choices) expect(Math.max(...ends)).toBeLessThanOrEqual(bytes.length)
  })

  test('equal hours have no trend', () => {
    const { funding: shown } = read([history(new Array(24).fill(0.1 / 3)), context('BTC')])
    expect(shown).toMatchObject({ trend: 'FLAT', stdev_rate: 0 })
  })

  test('with the last hours only the trend is UNKNOWN', () => {
    expect(read([history([1e-5, 2e-5]), context('BTC')]).funding.trend).toBe('UNKNOWN')
  })

  test('other exchanges are compared per hour, with the widest pair', () => {
    const { venues, venue_spread } = read([
      history([1e-5]),
      context('BTC', { fundingRateHourly: 2e-5 }),
      venueFundings([
        { venue: 'BinPerp', rate: 0.0001, intervalHours: 8, nextFundingMs: NOW_MS + 1 },
        { venue: 'BybitPerp', rate: -0.0001, intervalHours: 4, nextFundingMs: NOW_MS + 1 },
        // Our own, in other words.
        { venue: 'HlPerp', rate: 0.9, intervalHours: 1, nextFundingMs: NOW_MS + 1 },
        // Charged already: its next rate is another.
        { venue: 'LatePerp', rate: 0.9, intervalHours: 1, nextFundingMs: NOW_MS },
      ]),
    ])
    expect(venues).toEqual([
      {
        venue: 'BinPerp',
        rate: 0.0001,
        interval_hours: 8,
        hourly_rate: 0.0000125,
        annualized_pct: 10.95,
        next_funding_iso: new Date(NOW_MS + 1).toISOString(),
        as_of: new Date(NOW_MS).toISOString(),
      },
      expect.objectContaining({
        venue: 'BybitPerp',
        hourly_rate: -0.000025,
        annualized_pct: -21.9,
      }),
    ])
    expect(venue_spread).toEqual({
      long_on: 'BybitPerp',
      short_on: 'HlPerp',
      // 2e-5 against -2.5e-5 an hour.
      gross_annualized_pct: 39.42,
    })
  })

  test('the spread between exchanges is that of the annualised rates, which have more digits', () => {
    const { venues, venue_spread } = read([
      history([1e-5]),
      context('BTC', { fundingRateHourly: 1.25e-5 }),
      venueFundings([
        { venue: 'BinPerp', rate: 0.00007957, intervalHours: 8, nextFundingMs: NOW_MS + 1 },
      ]),
    ])
    expect(venues[0]).toMatchObject({ hourly_rate: 9.95e-6, annualized_pct: 8.7129 })
    const gross_annualized_pct = 2.2371
    expect(venue_spread).toEqual({ long_on: 'BinPerp', short_on: 'HlPerp', gross_annualized_pct })
  })

  property.prop([fc.array(printedRate, { minLength: 1, maxLength: 3 }), printedRate])(
    'the spread between exchanges is the difference of printed rates',
    (rates, fundingRateHourly) => {
      const fundings = rates.map((rate, at) => ({
        venue: `Venue${at}`,
        rate,
        intervalHours: 2 ** (at + 1),
        nextFundingMs: NOW_MS + 1,
      }))
      const {
        funding: own,
        venues,
        venue_spread,
      } = read([history([1e-5]), context('BTC', { fundingRateHourly }), venueFundings(fundings)])
      const printed = new Map(venues.map((each) => [each.venue, each.annualized_pct]))
      printed.set('HlPerp', own.annualized_pct)
      const [highest, lowest] = [Math.max(...printed.values()), Math.min(...printed.values())]
      expect(printed.get(venue_spread?.short_on ?? '')).toBe(highest)
      expect(printed.get(venue_spread?.long_on ?? '')).toBe(lowest)
      expect(venue_spread?.gross_annualized_pct).toBe(Number((highest - lowest).toFixed(4)))
      for (const { rate, interval_hours, hourly_rate } of venues)
        expect(Math.abs(hourly_rate - rate / interval_hours)).toBeLessThan(0.5e-8 * (1 + 1e-6))
    },
  )

  test.each([
    { what: 'never received', shown: [] },
    {
      what: 'received more than an hour ago',
      shown: [
        {
          ...venueFundings([
            { venue: 'BinPerp', rate: 1, intervalHours: 8, nextFundingMs: NOW_MS + HOUR_MS },
          ]),
          timeExchangeMs: NOW_MS - HOUR_MS - 1,
        },
      ],
    },
  ])('other exchanges are not shown if their rates were $what', ({ shown }) => {
    const { venues, venue_spread } = read([history([1e-5]), context('BTC'), ...shown])
    expect(venues).toEqual([])
    expect(venue_spread).toBeNull()
  })

  test('premium and implied rate come from the impact prices', () => {
    const figures = { oraclePrice: 100, impactBid: 100.2, impactAsk: 100.3 }
    const { funding: shown } = read([history([1e-5]), context('BTC', figures)])
    expect(shown.premium_bps).toBe(20)
    // (0.002 - 0.0005) / 8.
    expect(shown.implied_rate).toBe(0.0001875)
  })

  test('a builder-deployed coin has another premium and no implied rate', () => {
    const figures = { oraclePrice: 100, impactBid: 99.9, impactAsk: 100.3 }
    const { funding: shown } = read(
      [history([1e-5], 'xyz:GOLD'), context('xyz:GOLD', figures)],
      'xyz:GOLD',
    )
    expect(shown.premium_bps).toBe(10)
    expect(shown.implied_rate).toBeNull()
  })

  test('without impact prices both are null', () => {
    const { funding: shown } = read([history([1e-5]), context('BTC', { impactBid: null })])
    expect([shown.premium_bps, shown.implied_rate]).toEqual([null, null])
  })

  test.each([
    {
      what: 'figures',
      events: [history([1e-5])],
      reason: { kind: 'missing-input', input: 'funding' },
    },
    { what: 'any hour', events: [context('BTC')], reason: { kind: 'low-coverage', have: 0 } },
    {
      what: 'an hour of the last day',
      events: [history([1e-5, ...new Array<null>(24).fill(null)]), context('BTC')],
      reason: { kind: 'low-coverage', have: 0 },
    },
  ])('without $what there is nothing to sell', ({ events, reason }) => {
    expect(viewOf(render(events), '24')).toMatchObject(reason)
  })

  test('is sold from half of the requested hours, or of the hours since the listing', () => {
    const view = (rates: readonly (number | null)[], hours = '24') =>
      viewOf(render([history(rates), context('BTC')]), hours)
    const rates = new Array<number | null>(100).fill(1e-5)
    const missing = (count: number) => [
      ...rates.slice(count),
      ...new Array<null>(count - 1).fill(null),
      1e-5,
    ]
    expect(view(missing(13))?.kind, '12 of 24').toBe('answer')
    expect(view(missing(14))).toEqual({
      kind: 'low-coverage',
      missing: 'hours of funding',
      have: 11,
      need: 12,
    })
    expect(view(rates.slice(0, 10), '168')?.kind, 'ten hours old').toBe('answer')
    expect(view([1e-5, ...new Array<null>(8).fill(null), 1e-5], '168')).toMatchObject({
      have: 2,
      need: 5,
    })
  })

  test('own estimates do not show the age of the coin', () => {
    const own = history(new Array(5).fill(1e-5))
    if (own.kind !== 'funding-history') throw new Error('a history of funding')
    const rows = own.rows.map((row) => ({ ...row, isSettled: false }))
    expect(viewOf(render([{ ...own, rows }, context('BTC')]), '24')).toMatchObject({
      kind: 'low-coverage',
      have: 5,
      need: 12,
    })
  })

  test.each([
    { what: 'a whole month', rates: new Array(720).fill(1e-5), warnings: [], coveragePct: 100 },
    {
      what: 'a hole of an hour in the last day',
      rates: new Array(720).fill(1e-5).with(710, null),
      warnings: ['partial_data'],
      coveragePct: 2300 / 24,
    },
    {
      what: 'a listing of a week ago',
      rates: new Array(168).fill(1e-5),
      warnings: ['short_history'],
      coveragePct: 100,
    },
  ])('$what is warned of as $warnings', ({ rates, warnings, coveragePct }) => {
    const answer = viewOf(render([history(rates), context('BTC')]), '24')
    expect(answer).toMatchObject({ kind: 'answer', warnings, coveragePct })
  })

  test('its own rate is the load-bearing input, the others are optional', () => {
    const document = render([
      history([1e-5]),
      context('BTC'),
      venueFundings([{ venue: 'BinPerp', rate: 1, intervalHours: 8, nextFundingMs: NOW_MS + 1 }]),
    ])
    const answer = viewOf(document, '24')
    expect(answer?.kind === 'answer' && answer.inputs).toMatchObject([
      { name: 'funding', isLoadBearing: true, confirmedAtMs: NOW_MS },
      { name: 'funding_history', isLoadBearing: false, confirmedAtMs: BOUNDARY_MS },
      { name: 'venue_fundings', isLoadBearing: false, confirmedAtMs: NOW_MS },
    ])
  })

  test('a coin that is delisted is not rendered', () => {
    const processor = new Processor({ coin: [everySecond], market: [] }, '0.0.0')
    processor.process([universe([], ['BTC']), history([1e-5]), context('BTC')])
    expect(publishAll(processor)).toEqual([])
  })

  test.runIf(hasSharedFundings).each(['BTC', 'kPEPE', 'RLB', 'PUMP'])(
    'a recorded month of %s satisfies the schema hour by hour (needs ../shared/data)',
    (coin) => {
      const recorded = sharedFundings(coin).slice(-760)
      const processor = new Processor({ coin: [everySecond], market: [] }, '0.0.0')
      processor.process([universe([coin])])
      let answers = 0
      for (const row of recorded.slice(0, -1)) {
        const at = { timeExchangeMs: row.timeMs + 60_000, timeReceivedMs: row.timeMs + 60_000 }
        processor.process([
          { kind: 'funding-history', coin, rows: [row], ...at },
          context(coin, { fundingRateHourly: row.rateHourly, ...at }),
        ])
        if ((row.timeMs / HOUR_MS) % 40 !== 0) continue
        for (const document of publishAll(processor, at.timeReceivedMs)) {
          expect(schemaErrors(document)).toEqual([])
          answers += 1
        }
      }
      expect(answers).toBeGreaterThan(5)
    },
  )
})

type Body = Static<typeof FundingAnswer>

/** Hourly rates up to the boundary, the last one at it; null for a missing hour. */
function history(rates: readonly (number | null)[], coin = 'BTC'): MarketEvent {
  const rows = rates.flatMap((rateHourly, index): FundingRow[] => {
    const timeMs = BOUNDARY_MS - (rates.length - 1 - index) * HOUR_MS
    return rateHourly === null
      ? []
      : [{ coin, timeMs, rateHourly, premium: 0.0005, isSettled: true }]
  })
  return { kind: 'funding-history', coin, rows, ...now }
}

function venueFundings(
  fundings: (MarketEvent & { kind: 'venue-fundings' })['fundings'],
): MarketEvent & { kind: 'venue-fundings' } {
  return { kind: 'venue-fundings', coin: 'BTC', fundings, ...now }
}

function publishAll(processor: Processor, nowMs = NOW_MS): Document[] {
  return Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(nowMs)]).flat()
}

function render(events: readonly MarketEvent[], coin = 'BTC'): Document {
  return renderCoin(funding, coin, events)
}

function read(events: readonly MarketEvent[], coin = 'BTC'): Body {
  return filled(render(events, coin))
}

function filled(document: Document, view = funding.contract.defaultView): Body {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no answer but ${answer?.kind}`)
  const times = { nowMs: document.renderedAtMs, executionMs: 0.1, coinsAvailable: 1 }
  return JSON.parse(fillDocument(document, answer, times).toString('utf8')) as Body
}

const schema = Compile(FundingAnswer)

function schemaErrors(document: Document): unknown[] {
  return Object.entries(viewsOf(document))
    .filter(([, { kind }]) => kind === 'answer')
    .flatMap(([view]) => [...schema.Errors(filled(document, view))])
}
