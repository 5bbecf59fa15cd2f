import { fc, test as property } from '@fast-check/vitest'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { naiveBasis } from '../../../../test/golden/naive-external.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import { overdue } from '../../../api/freshness.ts'
import type { Document } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import type { OraclePriceEvent } from '../../../domain/external.ts'
import { oracleNetworks } from '../../../domain/external.ts'
import { gapSeries } from '../../external/measures/gap-series.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import { Processor, PUBLISH_PHASES } from '../../processor.ts'
import { exchangeQuote, oraclePrice, sourceUp } from '../../testing/external-events.ts'
import { newMarket } from '../../testing/new-market.ts'
import { randomExternalEvents } from '../../testing/random-external.ts'
import { renderCoin } from '../../testing/render-coin.ts'
import { context, NOW_MS, universe } from '../../testing/tape.ts'
import { basis } from './basis.ts'
import type { BasisAnswer } from './basis-schema.ts'
import { PublicationCount } from './publication-count.ts'

const MINUTE_MS = 60_000
type Body = Static<typeof BasisAnswer>
const schema = Compile(basis.contract.document)

describe('/basis', () => {
  test('is the example of the contract', () => {
    const { basis: measured } = read([
      context('BTC', { oraclePrice: 64_210.5, markPrice: 64_224 }),
      hermes(64_188.2, { confidenceUsd: 21.4 }),
    ])
    expect(measured).toMatchObject({
      venue_oracle_price: 64_210.5,
      venue_mark_price: 64_224,
      spot_price: 64_188.2,
      spot_confidence: 21.4,
      basis_bps: 3.47,
      basis_pct: 0.0347,
      perp_premium_bps: 2.1,
      total_basis_bps: 5.58,
      confidence_bps: 3.33,
      significant: true,
      direction: 'aligned',
      signal: 'neutral',
    })
  })

  test('implies a funding rate from the printed premium, and the yearly one from that rate', () => {
    const { basis: measured } = read([
      context('BTC', { oraclePrice: 100, markPrice: 100.12342 }),
      hermes(100),
    ])
    // (12.34 bps - 5 bps) / 8, of a premium of 12.342 bps.
    expect(measured).toMatchObject({
      perp_premium_bps: 12.34,
      premium_funding_hourly_pct: 0.009175,
      premium_funding_apr_pct: 80.373,
    })
  })

  test.each([
    { bps: 9.9, signal: 'neutral', direction: 'venue_premium' },
    { bps: 10.1, signal: 'mildly_bullish', direction: 'venue_premium' },
    { bps: 49.9, signal: 'mildly_bullish', direction: 'venue_premium' },
    { bps: 50.1, signal: 'bearish_contrarian', direction: 'venue_premium' },
    { bps: -9.9, signal: 'neutral', direction: 'venue_discount' },
    { bps: -10.1, signal: 'mildly_bearish', direction: 'venue_discount' },
    { bps: -50.1, signal: 'bullish_contrarian', direction: 'venue_discount' },
    { bps: 4.9, signal: 'neutral', direction: 'aligned' },
  ])('$bps bps are $direction and $signal', ({ bps, signal, direction }) => {
    const { basis: measured } = read([
      context('BTC', { oraclePrice: 100 + bps / 100 }),
      hermes(100),
    ])
    expect(measured).toMatchObject({ signal, direction, significant: true })
  })

  test('a price move within the age of a feed is not significant', () => {
    const push = { resolutionBps: 50, heartbeatMs: 60_000 }
    const { basis: measured, meta } = read([
      context('BTC', { oraclePrice: 100.2 }),
      oraclePrice('pyth-solana', 'BTC', 100, NOW_MS - 50_000, push),
    ])
    expect(measured).toMatchObject({
      source: 'pyth-solana',
      resolution_bps: 50,
      basis_bps: 20,
      significant: false,
      significant_basis_bps: null,
      annualized: { yearly_pct: null, reason: 'basis_not_significant' },
      direction: 'aligned',
      signal: 'neutral',
      regime: 'normal',
      status: 'degraded',
    })
    // Three bps of confidence, and two deviations of what 50 s move.
    expect(measured.band.total_bps).toBeCloseTo(3 + 2 * 1.5 * Math.sqrt(50), 2)
    expect(meta.warnings).toContain('leg_skew')
    expect(meta).toMatchObject({ oracle_age_seconds: 50, leg_skew_seconds: 50 })
  })

  test('a network without confidence has null', () => {
    const { basis: measured } = read([
      context('BTC'),
      hermes(110, { confidenceUsd: null, ema: null }),
    ])
    expect(measured).toMatchObject({
      spot_confidence: null,
      confidence_bps: null,
      spot_ema_price: null,
      spot_ema_confidence: null,
    })
    expect(measured.band.confidence_bps).toBe(0)
    expect(measured.band.ratio).toBeNull()
  })

  test('a depeg of USDT changes the adjusted basis only', () => {
    const at = (usdt: number) =>
      read([
        context('BTC', { oraclePrice: 100 / usdt }),
        hermes(100),
        exchangeQuote('kraken', 'USDT', usdt, NOW_MS),
      ]).basis
    expect(at(0.97).basis_usd_adjusted_bps).toBe(0)
    expect(at(0.97).basis_bps).toBeCloseTo(309.28, 2)
    expect(at(1)).toMatchObject({ basis_bps: 0, basis_usd_adjusted_bps: 0, usdt_price: 1 })
  })

  test('a basis that is the depeg of USDT is noted as such', () => {
    const at = (oraclePrice: number) =>
      read([
        context('BTC', { oraclePrice }),
        hermes(100),
        exchangeQuote('kraken', 'USDT', 0.97, NOW_MS),
      ]).basis
    const depegged =
      'The venue oracle price follows USDT, which is at 0.97 USD; adjusted for that, the basis is 0 bps.'
    expect(at(100 / 0.97).notes).toContain(depegged)
    expect(at(100 / 0.97).notes.join()).not.toContain('data fault')
    expect(at(102 / 0.97).notes.join(), 'still 200 bps').toContain('data fault')
  })

  test('without a USDT price there is no adjusted basis', () => {
    const { basis: measured } = read([context('BTC'), hermes(110)])
    expect(measured).toMatchObject({ basis_usd_adjusted_bps: null, usdt_price: null })
    expect(measured.notes).toContain(
      'The price of USDT is unknown; basis_usd_adjusted_bps is null.',
    )
  })

  test.each([
    { network: 'redstone', bounds: 0 },
    { network: 'pyth-solana', bounds: 1 },
  ] as const)(
    'notes a bound of $network on the price move only for a trigger',
    ({ network, bounds }) => {
      const { notes } = read([
        context('BTC', { oraclePrice: 100 }),
        oraclePrice(network, 'BTC', 100, NOW_MS, { resolutionBps: 5 }),
      ]).basis
      const bound = `Between two publications of ${network} the price may move by up to 5 bps.`
      expect(notes.filter((note) => note === bound)).toHaveLength(bounds)
    },
  )

  test('lists every network with its price and reason', () => {
    const { basis: measured } = read([
      context('BTC', { oraclePrice: 100 }),
      hermes(100, { confidenceUsd: 5 }),
      oraclePrice('redstone', 'BTC', 100.01, NOW_MS),
    ])
    expect(measured.source).toBe('redstone')
    expect(measured.oracle_networks).toMatchObject([
      { network: 'pyth-hermes', is_used: false, why_not: 'wide_confidence', confidence_bps: 500 },
      { network: 'redstone', is_used: true, why_not: null, basis_bps: -1 },
    ])
  })

  test('without an alternative, a network with wide confidence is used with a warning', () => {
    const { basis: measured, meta } = read([context('BTC'), hermes(110, { confidenceUsd: 5 })])
    expect(measured).toMatchObject({ source: 'pyth-hermes', status: 'degraded' })
    expect(meta.warnings).toContain('wide_oracle_confidence')
  })
})

describe('no basis', () => {
  test('of a coin without venue data', () => {
    expect(render([hermes(110)]).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'prices (venue oracle, oracle network)',
      have: 0,
      need: 2,
    })
  })

  test.each([
    { what: 'no network has a price', events: [] },
    { what: 'it is too old', events: [hermes(110, { timeExchangeMs: NOW_MS - 120_001 })] },
    { what: 'it is another asset', events: [hermes(110_000)] },
  ])('where $what, for now', ({ events }) => {
    expect(render([context('BTC'), ...events]).views['']).toMatchObject({
      kind: 'low-coverage',
      have: 1,
      need: 2,
    })
  })

  test('of a coin without an oracle feed, with the covered coins', () => {
    const up = sourceUp('pyth-hermes', NOW_MS - MINUTE_MS)
    const events = [up, context('XYZ'), hermes(110)]
    expect(renderCoin(basis, 'XYZ', events, ['XYZ', 'BTC']).views['']).toEqual({
      kind: 'not-covered',
      coins: ['BTC'],
    })
  })

  test.each([
    { what: 'degraded for good', state: 'degraded', forMs: 10 * MINUTE_MS },
    { what: 'degraded since a moment', state: 'degraded', forMs: 1 },
    { what: 'down since long', state: 'down', forMs: 5 * MINUTE_MS },
    { what: 'blocked', state: 'blocked', forMs: 1 },
  ] as const)('of one that none knows while another network is $what', ({ state, forMs }) => {
    const up = sourceUp('redstone', NOW_MS - MINUTE_MS)
    const other = { ...sourceUp('pyth-hermes', NOW_MS - forMs), state } as MarketEvent
    expect(render([up, other, context('BTC')]).views['']?.kind).toBe('not-covered')
  })

  test('of a coin without a feed, after the only network was degraded for a minute', () => {
    const only = {
      ...sourceUp('pyth-hermes', NOW_MS - MINUTE_MS),
      state: 'degraded',
    } as MarketEvent
    expect(render([only, context('BTC')]).views['']?.kind).toBe('not-covered')
  })

  test.each([
    { what: 'a network has only just come', up: sourceUp('pyth-hermes', NOW_MS - 59_999) },
    {
      what: 'another network may know more and is down',
      up: sourceUp('redstone', NOW_MS - MINUTE_MS),
      down: { ...sourceUp('pyth-hermes', NOW_MS - MINUTE_MS), state: 'down' } as MarketEvent,
    },
  ])('is for good while $what', ({ up, down }) => {
    const events = [up, ...(down === undefined ? [] : [down]), context('BTC')]
    expect(render(events).views['']).toMatchObject({ kind: 'low-coverage', have: 1 })
  })

  test('of a builder-deployed coin', () => {
    const coin = 'dex:GOLD'
    expect(renderCoin(basis, coin, [context(coin)]).views['']).toMatchObject({
      kind: 'not-covered',
    })
  })

  test.each([
    { name: 'oracle', ageMs: 120_000 },
    { name: 'mark', ageMs: 60_000 },
  ])('is sold with $name older than $ageMs ms', ({ name, ageMs }) => {
    const document = render([context('BTC'), hermes(110)])
    const answer = document.views['']
    if (answer?.kind !== 'answer') throw new Error('there is an answer')
    const late = { ...answer, inputs: answer.inputs.filter((input) => input.name === name) }
    expect(overdue(document, late, Number.POSITIVE_INFINITY, NOW_MS + ageMs)).toBeNull()
    expect(overdue(document, late, Number.POSITIVE_INFINITY, NOW_MS + ageMs + 1)).not.toBeNull()
  })
})

describe('the numbers of /basis', () => {
  property.prop([fc.integer({ min: 1, max: 1e9 })], { numRuns: 200 })(
    'are those of the naive search through the tape',
    (seed) => {
      const tape = randomExternalEvents(seed, {
        coin: 'kPEPE',
        asset: 'PEPE',
        scale: 1_000,
        nowMs: NOW_MS,
      })
      const naive = naiveBasis(tape, 'kPEPE', 'PEPE', 1_000, NOW_MS)
      const document = renderCoin(basis, 'kPEPE', tape)
      expect(document.views['']?.kind === 'answer').toBe(naive !== null)
      if (naive === null) return
      const { basis: measured, meta } = body(document)
      expect(measured.source).toBe(naive.source)
      expect(measured.basis_bps).toBeCloseTo(naive.basisBps, 1)
      expect(measured.total_basis_bps).toBeCloseTo(naive.totalBps, 1)
      expect(measured.perp_premium_bps).toBeCloseTo(naive.premiumBps, 1)
      expect(measured.band.total_bps).toBeCloseTo(naive.bandBps, 1)
      expect(measured.significant).toBe(naive.isSignificant)
      expect(meta.leg_skew_seconds).toBeCloseTo(naive.skewSeconds, 2)
      if (naive.adjustedBps === null) expect(measured.basis_usd_adjusted_bps).toBeNull()
      else expect(measured.basis_usd_adjusted_bps).toBeCloseTo(naive.adjustedBps, 1)
    },
  )

  const price = fc.double({ min: 99, max: 101, noNaN: true })

  property.prop([price, price])(
    'premium and basis are the total, to first order',
    (oracle, mark) => {
      const { basis: measured } = read([
        context('BTC', { oraclePrice: oracle, markPrice: mark }),
        hermes(100),
      ])
      const { basis_bps, perp_premium_bps, total_basis_bps } = measured
      const secondOrder = Math.abs(basis_bps * perp_premium_bps) / 10_000
      expect(Math.abs(basis_bps + perp_premium_bps - total_basis_bps)).toBeLessThan(
        secondOrder + 0.02,
      )
    },
  )

  property.prop([price, price])(
    'a coin of thousands has the basis of its units',
    (oracle, spot) => {
      const one = read([context('BTC', { oraclePrice: oracle }), hermes(spot)]).basis
      const many = body(
        renderCoin(basis, 'kPEPE', [
          context('kPEPE', { oraclePrice: oracle }),
          oraclePrice('pyth-hermes', 'PEPE', spot / 1_000, NOW_MS),
        ]),
      ).basis
      expect(many.scale).toBe(1_000)
      expect(many.basis_bps).toBeCloseTo(one.basis_bps, 2)
      expect(many.spot_price).toBeCloseTo(one.spot_price, 6)
      expect(many.confidence_bps).toBe(one.confidence_bps)
    },
  )

  property.prop([fc.double({ min: 0.1, max: 90, noNaN: true })])(
    'as far above as below says the opposite',
    (bps) => {
      const at = (sign: number) =>
        read([context('BTC', { oraclePrice: 100 * (1 + (sign * bps) / 10_000) }), hermes(100)])
          .basis
      const [above, below] = [at(1), at(-1)]
      expect(above.basis_bps).toBeCloseTo(-below.basis_bps, 2)
      expect(above.significant).toBe(below.significant)
      expect(above.regime).toBe(below.regime)
      const sideless = (signal: string) => signal.replace('bullish', 'bearish')
      expect(sideless(above.signal)).toBe(sideless(below.signal))
    },
  )
})

describe('the history of a basis', () => {
  test('prints no finer digits than its minutes support, and the regime follows them', () => {
    const market = newMarket(new PulsePool(3))
    market.apply(universe(['BTC']))
    const series = gapSeries.basis('BTC', 'pyth-hermes')
    for (let minute = 600; minute > 0; minute -= 1)
      market.log.record(series, NOW_MS - minute * MINUTE_MS, 10 * Math.sin(minute / 10))
    market.apply(hermes(100))
    const at = (basisBps: number) => {
      market.apply(context('BTC', { oraclePrice: 100 + basisBps / 100 }))
      const key = { key: 'basis/BTC' as const, version: 1, renderedAtMs: NOW_MS, snapshotId: 'snp' }
      const coin = market.coin('BTC')
      if (coin === undefined) throw new Error('BTC is listed')
      return body(basis.render(coin, { ...key, engineVersion: '0' }, market)).basis
    }
    const { stats, half_life_seconds } = at(20)
    const { median_bps, mad_bps, n } = stats['24h']
    expect([n, Number.isInteger(half_life_seconds)]).toEqual([600, true])
    // Two deviations print as 2, a hundredth more as 2.01.
    const zBps = (z: number) => (median_bps ?? 0) + z * 1.4826 * (mad_bps ?? 0)
    expect(at(zBps(2.003))).toMatchObject({ zscore_24h: 2, regime: 'normal' })
    expect(at(zBps(2.008))).toMatchObject({ zscore_24h: 2.01, regime: 'stretched' })
  })

  test('counts the publications of the last hour only', () => {
    const count = new PublicationCount()
    count.observe('series', 1, NOW_MS)
    expect(count.of('series', NOW_MS + 59 * MINUTE_MS)).toBe(1)
    expect(count.of('series', NOW_MS + 60 * MINUTE_MS)).toBe(0)
  })

  test('has one value per minute and network', () => {
    const processor = new Processor({ coin: [basis], market: [] }, '0')
    processor.process([universe(['BTC'])])
    let last: Document | null = null
    // Five hours by one network, then half an hour by another.
    for (let minute = 0; minute < 330; minute += 1) {
      const nowMs = NOW_MS + minute * MINUTE_MS
      const network = minute < 300 ? 'pyth-hermes' : 'redstone'
      const oracle = 100 + (minute % 5) / 100
      processor.process([
        context('BTC', { oraclePrice: oracle, timeReceivedMs: nowMs, timeExchangeMs: nowMs }),
      ])
      processor.process([oraclePrice(network, 'BTC', 100, nowMs)])
      for (let phase = 0; phase < 3 * PUBLISH_PHASES; phase += 1)
        for (const document of processor.publish(nowMs)) last = document
      if (minute === 299 && last !== null)
        expect(body(last, nowMs).basis).toMatchObject({
          basis_bps: 4,
          stats_24h: { n: 300, mean_bps: 2, min_bps: 0, max_bps: 4 },
          // Two above the median; a deviation of one bp is the median of 2 1 0 1 2.
          zscore_24h: 1.35,
          percentile_7d: 90,
          percentile_window_hours: 5,
          stats: { '1h': { n: 60, mad_bps: 1, percentile: 90, window_hours: 1 } },
        })
    }
    if (last === null) throw new Error('nothing was rendered')
    expect(body(last, NOW_MS + 329 * MINUTE_MS).basis).toMatchObject({
      source: 'redstone',
      zscore_24h: null,
      percentile_7d: null,
      percentile_window_hours: 0.5,
      stats_24h: { n: 30 },
    })
  })
})

function hermes(priceUsd: number, changes: Partial<OraclePriceEvent> = {}): OraclePriceEvent {
  return oraclePrice('pyth-hermes', 'BTC', priceUsd, NOW_MS, changes)
}

function render(events: readonly MarketEvent[]): Document {
  return renderCoin(basis, 'BTC', events)
}

function read(events: readonly MarketEvent[]): Body {
  return body(render(events))
}

/** As it is sent; checked against the schema. */
function body(document: Document, nowMs = NOW_MS): Body {
  const answer = document.views['']
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${answer?.kind}`)
  const facts = { nowMs, executionMs: 0, coinsAvailable: 1 }
  const parsed: unknown = JSON.parse(fillDocument(document, answer, facts).toString())
  expect([...schema.Errors(parsed)]).toEqual([])
  expect(oracleNetworks).toContain((parsed as Body).basis.source)
  return parsed as Body
}
