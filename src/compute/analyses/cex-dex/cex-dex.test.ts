import { fc, test as property } from '@fast-check/vitest'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { naiveDivergence } from '../../../../test/golden/naive-external.ts'
import { fillDocument } from '../../../api/fill-document.ts'
import { overdue } from '../../../api/freshness.ts'
import type { Document } from '../../../domain/document.ts'
import type { MarketEvent } from '../../../domain/event.ts'
import type { Exchange } from '../../../domain/external.ts'
import { isActionable } from '../../external/cex-dex-reading.ts'
import { divergenceDirection } from '../../external/divergence-direction.ts'
import { gapSeries } from '../../external/measures/gap-series.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../../processor.ts'
import { exchangeQuote, oraclePrice, poolOf, sourceUp } from '../../testing/external-events.ts'
import { newMarket } from '../../testing/new-market.ts'
import { randomExternalEvents } from '../../testing/random-external.ts'
import { renderCoin } from '../../testing/render-coin.ts'
import { book, context, NOW_MS, universe } from '../../testing/tape.ts'
import { cexDex } from './cex-dex.ts'
import { severityOf } from './cex-dex-labels.ts'
import type { CexDexAnswer } from './cex-dex-schema.ts'

const MINUTE_MS = 60_000
const PHASE_MS = PUBLISH_PERIOD_MS / PUBLISH_PHASES
type Body = Static<typeof CexDexAnswer>
const schema = Compile(cexDex.contract.document)

describe('/cex-dex', () => {
  test('is the example of the contract', () => {
    const answer = read([
      context('BTC', { oraclePrice: 3_040 }),
      ...exchangesAt(3_041.22),
      network(3_038.05, { confidenceUsd: 1, ema: null }),
    ])
    expect(answer).toMatchObject({
      cex_price: 3_041.22,
      dex_price: 3_038.05,
      dex_source: 'oracle_network',
      dex_name: 'pyth-hermes',
      dex_reason: 'no_pool',
      divergence_bps: 10.43,
      divergence_pct: 0.1043,
      direction: 'cex_premium',
      severity: 'MILD',
      // Half a spread of one bp, and a confidence of 3.29 bps.
      noise_bps: 3.79,
      actionable: true,
      leg_skew_seconds: 0,
      data_age_seconds: 0,
      cex_vs_oracle_network_bps: 10.43,
      cex_vs_pool_bps: null,
      depth_usd: { dex_10bps: null },
    })
  })

  test.each([
    { bps: 9.99, severity: 'NORMAL' },
    { bps: 10.01, severity: 'MILD' },
    { bps: -29.99, severity: 'MILD' },
    { bps: 30.01, severity: 'SIGNIFICANT' },
    { bps: -99.99, severity: 'SIGNIFICANT' },
    { bps: 100.01, severity: 'EXTREME' },
  ])('$bps bps are $severity', ({ bps, severity }) => {
    const answer = read([at100, ...exchangesAt(100 + bps / 100), ...networks(100)])
    expect(answer).toMatchObject({
      severity,
      direction: bps > 0 ? 'cex_premium' : 'dex_premium',
    })
  })

  test('labels are those of the printed numbers', () => {
    expect(severityOf({ divergenceBps: 9.996, noiseBps: 1 })).toBe('MILD')
    expect(severityOf({ divergenceBps: -100.004, noiseBps: 1 })).toBe('SIGNIFICANT')
    expect(divergenceDirection({ divergenceBps: 5.004, noiseBps: 5.001 })).toBe('aligned')
    expect(isActionable({ divergenceBps: 5.794, noiseBps: 3.786 })).toBe(false)
    expect(isActionable({ divergenceBps: 5.796, noiseBps: 3.786 })).toBe(true)
  })

  test('the usable pool with the lowest swap cost is the dex price', () => {
    const answer = read([
      at100,
      ...exchangesAt(100),
      usdc,
      ...networks(100.5),
      poolOf('BTC', 99.9, NOW_MS, { pool: '0x30', feeBps: 30 }),
      poolOf('BTC', 99.8, NOW_MS, { pool: '0x05', chain: 'base', feeBps: 5, reserveQuote: 1e8 }),
      poolOf('BTC', 99.7, NOW_MS, { pool: '0x01', feeBps: 1, reserveQuote: 1e6 }),
    ])
    expect(answer).toMatchObject({
      dex_source: 'dex_pool',
      dex_reason: 'cheapest_pool',
      dex_name: 'base/uniswap-v3',
      dex_price: 99.8,
      divergence_bps: 20.04,
      cex_vs_pool_bps: 20.04,
      cex_vs_oracle_network_bps: -49.75,
      noise_bps: 5.5,
      onchain_total: 3,
    })
    // 5 bps, and 10,000 USD over 1e8.
    expect(answer.onchain[0]).toMatchObject({ is_used: true, swap_cost_bps: 6, why_not: null })
    expect(answer.onchain[2]).toMatchObject({ is_used: false, why_not: 'thin' })
    expect(answer.depth_usd.dex_10bps).toBe(50_000)
  })

  test('a pool that is too old is replaced by the oracle network', () => {
    const answer = read([
      at100,
      usdc,
      ...exchangesAt(100),
      network(100),
      poolOf('BTC', 100, NOW_MS - 60_001),
    ])
    expect(answer).toMatchObject({
      dex_source: 'oracle_network',
      dex_reason: 'no_usable_pool',
      onchain: [{ why_not: 'too_old', is_used: false }],
    })
  })

  test('noise grows with the square root of the skew, up to the trigger of a feed', () => {
    const noise = (agoMs: number, resolutionBps: number) =>
      read([
        at100,
        ...exchangesAt(100),
        oraclePrice('pyth-solana', 'BTC', 100, NOW_MS, {
          timeExchangeMs: NOW_MS - agoMs,
          resolutionBps,
          heartbeatMs: 60_000,
        }),
      ]).noise_bps
    expect(noise(0, 0)).toBe(3.5)
    expect(noise(4_000, 0)).toBe(3.5 + 2 * 1.5 * 2)
    expect(noise(49_000, 0)).toBe(3.5 + 2 * 1.5 * 7)
    expect(noise(49_000, 10)).toBeCloseTo(3.5 + 10 + 2 * 1.5 * Math.sqrt(5), 2)
  })

  test('shows every quote with its reason for exclusion', () => {
    const { exchanges, cex_source } = read([
      at100,
      ...exchangesAt(100),
      exchangeQuote('okx', 'BTC', 100, NOW_MS, { quote: 'USDT' }),
      exchangeQuote('bybit', 'BTC', 107, NOW_MS),
      network(100),
    ])
    expect(cex_source).toBe('coinbase')
    expect(exchanges).toMatchObject({ used_n: 3, dispersion_bps: 2 })
    expect(exchanges.venues).toMatchObject([
      { exchange: 'binance', is_used: true, why_not: null },
      { exchange: 'bybit', is_used: false, why_not: 'outlier', mid: 107 },
      { exchange: 'coinbase', is_used: true },
      { exchange: 'kraken', is_used: true },
      { exchange: 'okx', is_used: false, why_not: 'no_usd_rate', mid: null, bid: null },
    ])
  })

  test('shows all digits of the funding rate', () => {
    const { perp } = read([
      context('BTC', { oraclePrice: 100, fundingRateHourly: 0.0000125 }),
      ...exchangesAt(100),
      network(100),
    ])
    expect(perp.funding_next_hour_bps).toBe(0.125)
  })

  test('a depeg of USDT does not move the reference', () => {
    const at = (usdt: number) =>
      read([
        context('BTC', { oraclePrice: 100 / usdt }),
        exchangeQuote('kraken', 'USDT', usdt, NOW_MS),
        exchangeQuote('okx', 'BTC', 100 / usdt, NOW_MS, { quote: 'USDT' }),
        exchangeQuote('bybit', 'BTC', 100 / usdt, NOW_MS, { quote: 'USDT' }),
        network(100),
      ])
    expect(at(0.7)).toMatchObject({ cex_price: 100, divergence_bps: 0 })
    expect(at(0.7).cex_vs_venue_oracle_bps).toBeCloseTo(-3_000, 6)
  })
})

describe('executable edges', () => {
  test('are of the best exchange per direction, net of the fees of both sides', () => {
    const { executable } = read([
      at100,
      usdt,
      level(100),
      exchangeQuote('kraken', 'BTC', 101, NOW_MS),
      exchangeQuote('binance', 'BTC', 100.9, NOW_MS),
      network(100),
    ])
    // Kraken bids 10 bps more, and takes 30 more.
    const [sold, bought] = executable.edges
    expect(sold).toMatchObject({ buy: 'venue_perp', sell: 'binance', fee_bps: 29, gas_bps: 0 })
    expect(sold?.gross_bps).toBeCloseTo(10_000 * Math.log((100.9 * (1 - 5e-5)) / 100.01), 1)
    expect(sold?.net_bps).toBeCloseTo((sold?.gross_bps ?? 0) - 29, 9)
    expect(bought).toMatchObject({ buy: 'binance', sell: 'venue_perp' })
    expect(executable.best_net_bps).toBe(sold?.net_bps)
    expect(executable.edges).toHaveLength(2)
  })

  test('value the perpetual at the price of USDT, which its price follows', () => {
    const { executable, perp } = read([
      context('BTC', { oraclePrice: 100 / 0.97 }),
      exchangeQuote('kraken', 'USDT', 0.97, NOW_MS),
      level(100 / 0.97),
      ...exchangesAt(100),
      network(100),
    ])
    expect(perp).toMatchObject({ usdt_price: 0.97 })
    expect(perp.mid).toBeCloseTo(100 / 0.97, 5)
    // Both books are 1 or 2 bps wide, and the exchanges 1 bp apart.
    for (const { gross_bps } of executable.edges) expect(Math.abs(gross_bps)).toBeLessThan(3)
    expect(executable.best_net_bps).toBeLessThan(0)
  })

  test('against the perpetual are unknown without a price of USDT', () => {
    const { executable, perp } = read([at100, level(100), ...exchangesAt(100), network(100)])
    expect(executable).toMatchObject({ edges: [], best_net_bps: null })
    expect(perp).toMatchObject({ mid: 100, usdt_price: null })
  })

  test('against the perpetual pay the fees of entry and exit', () => {
    const { executable } = read([
      at100,
      usdt,
      book('BTC', {
        bids: [{ price: 99.98, sizeBase: 10 }],
        asks: [{ price: 100, sizeBase: 10 }],
      }),
      exchangeQuote('binance', 'BTC', 100.2 / (1 - 5e-5), NOW_MS),
      exchangeQuote('kraken', 'BTC', 100.2, NOW_MS),
      network(100),
    ])
    // Bought at 100.00, sold at 100.20; entry and exit each cost 4.5 + 10 bps.
    expect(executable).toMatchObject({
      edges: [{ buy: 'venue_perp', sell: 'binance', gross_bps: 19.98, fee_bps: 29 }, {}],
      best_net_bps: -9.02,
    })
  })

  test('of a pool with unknown gas have no net', () => {
    const events = [at100, level(100), usdt, usdc, ...exchangesAt(100), poolOf('BTC', 100, NOW_MS)]
    const [, , unknown] = read(events).executable.edges
    expect(unknown).toMatchObject({ buy: 'ethereum/uniswap-v3', gas_bps: null, net_bps: null })
    const chain = {
      kind: 'chain' as const,
      chain: 'ethereum' as const,
      blockNumber: 1,
      swapGasNative: 0.002,
      native: 'ETH',
      timeExchangeMs: NOW_MS,
      timeReceivedMs: NOW_MS,
    }
    const [, , known] = read([...events, chain, oraclePrice('redstone', 'ETH', 3_000, NOW_MS)])
      .executable.edges
    // 6 USD of 10,000.
    expect(known).toMatchObject({ gas_bps: 6, fee_bps: 15.5 })
    expect(known?.net_bps).toBeCloseTo((known?.gross_bps ?? 0) - 21.5, 9)
  })

  test('need a two-sided book of the venue', () => {
    const { executable, perp } = read([at100, usdt, ...exchangesAt(100), network(100)])
    expect(executable).toMatchObject({ edges: [], best_net_bps: null })
    expect(perp.mid).toBeNull()
  })
})

describe('a book whose sides are far apart', () => {
  const wide = book('BTC', {
    bids: [{ price: 100, sizeBase: 10 }],
    asks: [{ price: 130, sizeBase: 10 }],
  })

  test('has no mid to compare the exchanges with, and can still be traded', () => {
    const { cex_vs_perp_bps, executable, perp } = read([
      wide,
      at100,
      usdt,
      ...exchangesAt(100),
      network(100),
    ])
    expect([perp.mid, cex_vs_perp_bps]).toEqual([null, null])
    expect(executable.edges.length).toBeGreaterThan(0)
  })
})

describe('no divergence', () => {
  test('of a coin without venue data', () => {
    expect(render([...exchangesAt(100), network(100)]).views['']).toMatchObject({
      kind: 'low-coverage',
      have: 0,
      need: 3,
    })
  })

  test.each([
    {
      what: 'only one exchange has a price',
      have: 1,
      events: [...exchangesAt(100).slice(0, 1), network(100)],
    },
    {
      what: 'no exchange agrees with the venue',
      have: 1,
      events: [...exchangesAt(130), network(100)],
    },
    { what: 'neither a pool nor a network has a price', have: 2, events: exchangesAt(100) },
  ])('where $what, for now', ({ have, events }) => {
    expect(render([at100, ...events]).views['']).toMatchObject({
      kind: 'low-coverage',
      have,
      need: 3,
    })
  })

  test('of a coin on too few exchanges, with the covered coins', () => {
    const up = (['kraken', 'okx'] as const).map((source) => sourceUp(source, NOW_MS - MINUTE_MS))
    const events = [...up, context('XYZ'), ...exchangesAt(100)]
    expect(renderCoin(cexDex, 'XYZ', events, ['XYZ', 'BTC']).views['']).toEqual({
      kind: 'not-covered',
      coins: ['BTC'],
    })
    const beside = (state: string, forMs: number) => {
      const other = { ...sourceUp('binance', NOW_MS - forMs), state } as MarketEvent
      return renderCoin(cexDex, 'XYZ', [...events, other], ['XYZ', 'BTC']).views['']?.kind
    }
    expect(beside('down', 0)).toBe('low-coverage')
    expect(beside('down', 5 * MINUTE_MS)).toBe('not-covered')
    expect(beside('degraded', 0)).toBe('not-covered')
  })

  test('of a coin whose quotes are those of before our start, for now: it is listed', () => {
    const up = (['kraken', 'okx'] as const).map((source) => sourceUp(source, NOW_MS - MINUTE_MS))
    const quotes = (['kraken', 'okx'] as const).map((exchange) =>
      exchangeQuote(exchange, 'XYZ', 100, NOW_MS - 5 * MINUTE_MS),
    )
    const events = [...up, context('XYZ'), ...quotes]
    expect(renderCoin(cexDex, 'XYZ', events, ['XYZ', 'BTC']).views['']?.kind).toBe('low-coverage')
  })

  test('is sold on quotes older than 10 s', () => {
    const document = render([at100, ...exchangesAt(100), network(100)])
    const answer = document.views['']
    if (answer?.kind !== 'answer') throw new Error('there is an answer')
    expect(overdue(document, answer, Number.POSITIVE_INFINITY, NOW_MS + 10_000)).toBeNull()
    expect(overdue(document, answer, Number.POSITIVE_INFINITY, NOW_MS + 10_001)).not.toBeNull()
  })

  test('is sold on venue figures older than 60 s, and none is found without any of the last 5 min', () => {
    const at = (ageMs: number) => {
      const stamp = { timeExchangeMs: NOW_MS - ageMs, timeReceivedMs: NOW_MS - ageMs }
      return render([{ ...at100, ...stamp }, ...exchangesAt(100), network(100)])
    }
    const overdueAt = (ageMs: number) => {
      const answer = at(ageMs).views['']
      if (answer?.kind !== 'answer') throw new Error('there is an answer')
      return overdue(at(ageMs), answer, Number.POSITIVE_INFINITY, NOW_MS)
    }
    expect(overdueAt(60_000)).toBeNull()
    expect(overdueAt(60_001)).toEqual({
      input: 'mark',
      ageMs: 60_001,
      ageMsMax: 60_000,
    })
    expect(overdueAt(300_000)).not.toBeNull()
    expect(at(300_001).views['']).toMatchObject({ kind: 'low-coverage', have: 0, need: 3 })
  })
})

describe('the numbers of /cex-dex', () => {
  property.prop([fc.integer({ min: 1, max: 1e9 })], { numRuns: 300 })(
    'are those of the naive search through the tape',
    (seed) => {
      const tape = randomExternalEvents(seed, {
        coin: 'kPEPE',
        asset: 'PEPE',
        scale: 1_000,
        nowMs: NOW_MS,
      })
      const naive = naiveDivergence(tape, 'kPEPE', 'PEPE', 1_000, NOW_MS)
      const document = renderCoin(cexDex, 'kPEPE', tape)
      expect(document.views['']?.kind === 'answer').toBe(naive !== null)
      if (naive === null) return
      const answer = body(document)
      expect(answer.dex_source).toBe(naive.source)
      expect(answer.exchanges.used_n).toBe(naive.usedN)
      expect(answer.cex_price).toBeCloseTo(naive.cexPrice, 4)
      expect(answer.dex_price).toBeCloseTo(naive.dexPrice, 4)
      expect(answer.divergence_bps).toBeCloseTo(naive.divergenceBps, 1)
      expect(answer.noise_bps).toBeCloseTo(naive.noiseBps, 1)
    },
  )

  property.prop([fc.double({ min: 0.1, max: 200, noNaN: true })])(
    'as far above as below says the opposite',
    (bps) => {
      const at = (sign: number) =>
        read([at100, ...exchangesAt(100 * (1 + (sign * bps) / 10_000)), ...networks(100)])
      const [above, below] = [at(1), at(-1)]
      expect(above.divergence_bps).toBeCloseTo(-below.divergence_bps, 1)
      expect(above.severity).toBe(below.severity)
      expect(above.actionable).toBe(below.actionable)
      expect(above.direction === 'aligned').toBe(below.direction === 'aligned')
    },
  )

  property.prop([
    fc.double({ min: 95, max: 105, noNaN: true }),
    fc.double({ min: 95, max: 105, noNaN: true }),
  ])('a coin of thousands diverges as its units do', (cex, dex) => {
    const one = read([at100, ...exchangesAt(cex), ...networks(dex)])
    const many = body(
      renderCoin(cexDex, 'kPEPE', [
        context('kPEPE', { oraclePrice: 100 }),
        ...exchangesAt(cex / 1_000, 'PEPE'),
        ...networks(dex / 1_000, 'PEPE'),
      ]),
    )
    expect(many.cex_price).toBeCloseTo(one.cex_price, 5)
    expect(many.divergence_bps).toBeCloseTo(one.divergence_bps, 1)
    expect(many.noise_bps).toBeCloseTo(one.noise_bps, 2)
  })
})

describe('the history of a divergence', () => {
  test('has no duration where the present reading contradicts the last check', () => {
    const market = newMarket(new PulsePool(3))
    const render = renderedBy(market)
    render(100.4)
    for (let tick = 0; tick < 20; tick += 1) market.advance(NOW_MS + tick * 50)
    expect(render(100.4)).toMatchObject({
      actionable: true,
      persistence_seconds: expect.any(Number),
    })
    expect(render(99.6)).toMatchObject({ actionable: true, persistence_seconds: null })
    expect(render(100)).toMatchObject({ actionable: false, persistence_seconds: null })
  })

  test('has no finer z-score than its minutes support', () => {
    const market = newMarket(new PulsePool(3))
    const series = gapSeries.cexDex('BTC', 'pyth-hermes')
    for (let minute = 250; minute > 0; minute -= 1)
      market.log.record(series, NOW_MS - minute * MINUTE_MS, minute % 5)
    // (40 - 2) / 1.4826 = 25.6307.
    expect(renderedBy(market)(100.4).stats_24h).toMatchObject({ n: 250, zscore: 25.63 })
  })

  test('covers one kind of dex price, with the duration of the divergence', () => {
    const processor = new Processor({ coin: [cexDex], market: [] }, '0')
    processor.process([universe(['BTC'])])
    let last: Document | null = null
    const told = (nowMs: number, events: readonly MarketEvent[]) => {
      for (const event of events)
        processor.process([
          { ...event, timeExchangeMs: nowMs, timeReceivedMs: nowMs } as MarketEvent,
        ])
      for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
        for (const document of processor.publish(nowMs + PHASE_MS * phase)) last = document
    }
    const read = (nowMs: number): Body => {
      if (last === null) throw new Error('nothing was rendered')
      return body(last, nowMs)
    }
    // Forty bps for a minute in ten, and five else; a second each is enough.
    for (let minute = 0; minute < 250; minute += 1) {
      const cex = minute % 10 === 0 ? 100.4 : 100.05
      told(NOW_MS + minute * MINUTE_MS, [at100, ...exchangesAt(cex), ...networks(100)])
    }
    const endMs = NOW_MS + 249 * MINUTE_MS
    expect(read(endMs + 950).stats_24h).toMatchObject({
      n: 250,
      mean_bps: 8.5,
      abs_p95_bps: 40,
      time_above_30bps_pct: 10,
      zscore: null,
      percentile: 45,
      window_hours: 4.167,
    })
    expect(read(endMs + 950).persistence_seconds).toBeNull()

    for (let second = 1; second <= 30; second += 1)
      told(endMs + second * 1_000, [at100, ...exchangesAt(100.4), ...networks(100)])
    const open = read(endMs + 30_950)
    expect(open.actionable).toBe(true)
    expect(open.persistence_seconds).toBeGreaterThan(28.9)
    expect(open.persistence_seconds).toBeLessThan(31)

    told(endMs + 31_000, [usdc, at100, ...exchangesAt(100.4), poolOf('BTC', 100, NOW_MS)])
    expect(read(endMs + 31_950)).toMatchObject({ dex_source: 'dex_pool', stats_24h: { n: 0 } })
  })
})

const at100 = context('BTC', { oraclePrice: 100 })
const usdc = exchangeQuote('kraken', 'USDC', 1, NOW_MS)
const usdt = exchangeQuote('kraken', 'USDT', 1, NOW_MS)

function network(priceUsd: number, changes = {}): MarketEvent {
  return oraclePrice('pyth-hermes', 'BTC', priceUsd, NOW_MS, changes)
}

/** As many as exchanges, which therefore do not outvote them. */
function networks(priceUsd: number, asset = 'BTC'): readonly MarketEvent[] {
  return (['pyth-hermes', 'redstone', 'pyth-evm'] as const).map((one) =>
    oraclePrice(one, asset, priceUsd, NOW_MS),
  )
}

/** Three, one bp apart. */
function exchangesAt(mid: number, asset = 'BTC'): readonly MarketEvent[] {
  return (['binance', 'coinbase', 'kraken'] as const satisfies Exchange[]).map((exchange, at) =>
    exchangeQuote(exchange, asset, mid * (1 + (at - 1) * 1e-4), NOW_MS),
  )
}

/** A book of the venue two bps wide. */
function level(mid: number): MarketEvent {
  return book('BTC', {
    bids: [{ price: mid * (1 - 1e-4), sizeBase: 10 }],
    asks: [{ price: mid * (1 + 1e-4), sizeBase: 10 }],
  })
}

function render(events: readonly MarketEvent[]): Document {
  return renderCoin(cexDex, 'BTC', events)
}

function read(events: readonly MarketEvent[]): Body {
  return body(render(events))
}

/** Answers of one market, with the exchanges at a price and three networks at 100. */
function renderedBy(market: MarketState): (cex: number) => Body {
  for (const event of [universe(['BTC']), at100, ...networks(100)]) market.apply(event)
  return (cex) => {
    for (const event of exchangesAt(cex)) market.apply(event)
    const coin = market.coin('BTC')
    if (coin === undefined) throw new Error('BTC is listed')
    const key = { key: 'cex-dex/BTC' as const, version: 1, renderedAtMs: NOW_MS, snapshotId: 'snp' }
    return body(cexDex.render(coin, { ...key, engineVersion: '0' }, market), NOW_MS + 1_000)
  }
}

/** As it is sent; checked against the schema. */
function body(document: Document, nowMs = NOW_MS): Body {
  const answer = document.views['']
  if (answer?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(answer)}`)
  const facts = { nowMs, executionMs: 0, coinsAvailable: 1 }
  const parsed: unknown = JSON.parse(fillDocument(document, answer, facts).toString())
  expect([...schema.Errors(parsed)]).toEqual([])
  return parsed as Body
}
