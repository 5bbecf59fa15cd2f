import { fc, test as property } from '@fast-check/vitest'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../../api/fill-document.ts'
import type { Document } from '../../../domain/document.ts'
import type { Chain, ExternalEvent } from '../../../domain/external.ts'
import { chains } from '../../../domain/external.ts'
import { arbMeasure } from '../../external/arb/arb-measure.ts'
import type { ArbAsset } from '../../external/arb/arb-model.ts'
import { PulsePool } from '../../indicators/pulse-series.ts'
import type { MarketState } from '../../market/market-state.ts'
import { pool, poolEvents, rateEvents } from '../../testing/chain-tape.ts'
import { newMarket } from '../../testing/new-market.ts'
import { NOW_MS } from '../../testing/tape.ts'
import { arb } from './arb.ts'

const STEP_MS = 10_000
const START_MS = Math.ceil(NOW_MS / 300_000) * 300_000
/** After the last sample of most tests. */
const READ_MS = START_MS + 3 * STEP_MS
const schema = Compile(arb.contract.document)

/** A market of two samples in which ETH is 40 bps dear on Base, and all else costs the same everywhere. */
const dearOnBase = () =>
  sampled(2, (asset, chain) => (asset === 'ETH' && chain === 'base' ? 40 : 0))

describe('the answer', () => {
  test('of one gap of 40 bps equals the computation by hand', () => {
    const answer = read(documentOf(dearOnBase()))
    // Fees of 5, impact of 50,000 / 10^9, ten cents of gas and 2: the band is 7.52 bps.
    expect(answer).toMatchObject({
      timestamp_iso: new Date(START_MS + STEP_MS).toISOString(),
      stress_level: 'LOW',
      // The score of 32.48 / 60 stands apart from 1 / 24 of 0.6: root(0.1353^2 + 0.0139^2).
      stress_score: 0.136,
      index: 13.6,
      regime: 'CALM',
      override: null,
      components: {
        dispersion: 0,
        band_excess: 0.541,
        breadth: 0.069,
        persistence: 0,
        plumbing: 0,
      },
      dislocations_count: 7,
      threshold_bps: 10,
      // 10,000 (e^0.004 - 1).
      avg_dislocation_bps: 40.08,
      max_dislocation_bps: 40.08,
      chains_scanned: 8,
      chains_total: 8,
      tokens_scanned: 3,
      counts: { transient: 7, persistent: 0, structural: 0 },
      baseline: { score_percentile_7d: null, median_score_7d: null },
      trend: { change_1h: null, change_24h: null, percentile_24h: null },
      coverage: { chains_fresh: 8, chains_total: 8, assets: 3, structural_known: 0, prices: 24 },
      interpretation: 'Low cross-chain stress: 7 dislocations, widest 40.08 bps, before costs.',
    })
    expect(answer.component_details.band_excess).toEqual({
      raw: 32.48,
      unit: 'bps',
      score: 0.541,
      weight: 0.25,
      contribution: 13.46,
    })
    expect(answer.dislocations[0]).toEqual({
      token: 'ETH',
      buy_chain: 'ethereum',
      sell_chain: 'base',
      gross_bps: 40.08,
      est_cost_bps: 13.04,
      net_bps: 27.04,
      persistence_seconds: 10,
    })
    expect(answer.opportunities[0]).toEqual({
      asset: 'ETH',
      buy_chain: 'ethereum',
      sell_chain: 'base',
      gross_bps: 40.08,
      net_inventory_bps: 27.04,
      net_bridge_bps: null,
      notional_usd: 50_000,
      net_usd: 135.2,
      age_seconds: 10,
      class: 'TRANSIENT',
      // A sixth of the life, blocks of now, and pools that do not remember.
      confidence: 0.517,
    })
    expect(answer.assets[0].chains[2]).toMatchObject({
      chain: 'base',
      status: 'OK',
      price_usd: 3_012.024,
      gap_bps: 40,
      structural_bps: null,
      band_bps: 7.52,
      fee_bps: 5,
      impact_bps: 0.5,
      gas_usd: 0.1,
      liquidity_usd: 1e7,
      block: 1_000,
    })
    expect(answer.assets[0]).toMatchObject({
      reference_usd: 3_000,
      exchanges_usd: 3_000,
      arbitrage_index: 1.004008,
      max: { chain: 'base', price_usd: 3_012.024 },
    })
  })

  test('gives the regime the score that it prints', () => {
    const market = sampled(3, (asset, chain) => (asset === 'ETH' && chain === 'base' ? 40 : 0))
    const { stress_score } = read(documentOf(market))
    expect(stress_score).toBeGreaterThan(0)
    expect(market.of(arbMeasure).stressScore(READ_MS)).toBe(stress_score)
  })

  test('of equal prices has nothing to report', () => {
    expect(read(documentOf(sampled(3)))).toMatchObject({
      stress_score: 0,
      dislocations_count: 0,
      avg_dislocation_bps: null,
      max_dislocation_bps: null,
      dislocations: [],
      opportunities: [],
      interpretation: 'Low cross-chain stress: no price gap between chains reaches 10 bps.',
    })
  })

  test('names the widest usual gap, and the hours behind the baseline', () => {
    const market = newMarket(new PulsePool(3))
    const wrapped: GapBps = (asset, chain) => (asset === 'ETH' && chain === 'base' ? -80 : 0)
    const minutes = 6 * 60
    for (let minute = 0; minute <= minutes; minute += 1) {
      const nowMs = START_MS + minute * 60_000
      apply(market, nowMs, [...rateEvents(nowMs), ...poolEvents(nowMs, wrapped)])
    }
    const nowMs = START_MS + minutes * 60_000
    const answer = read(documentOf(market, nowMs), nowMs)
    expect(answer.assets[0].chains[2]).toMatchObject({ chain: 'base', structural_bps: -80 })
    expect(answer.interpretation).toBe(
      'Low cross-chain stress: no price gap between chains reaches 10 bps beyond its usual size; the widest usual gap is ETH on base, 80 bps below.',
    )
    expect(answer.baseline.window_hours).toBeCloseTo(6, 1)
    const laterMs = nowMs + STEP_MS
    const later = poolEvents(laterMs, (asset, chain) =>
      asset === 'BTC' && chain === 'base' ? 40 : wrapped(asset, chain),
    )
    apply(market, laterMs, [...rateEvents(laterMs), ...later])
    expect(read(documentOf(market, laterMs), laterMs).interpretation).toMatch(
      /: 7 dislocations, widest 40\.08 bps beyond its usual gap, before costs\.$/,
    )
  })

  test('names the chains whose gaps it cannot judge for lack of a gas cost', () => {
    const market = newMarket(new PulsePool(3))
    const pools = poolEvents(START_MS, (asset, chain) =>
      asset === 'ETH' && chain === 'base' ? 40 : 0,
    ).filter((event) => !(event.kind === 'chain' && event.chain === 'base'))
    apply(market, START_MS, [...rateEvents(START_MS), ...pools])
    expect(read(documentOf(market))).toMatchObject({
      dislocations_count: 0,
      interpretation:
        'Low cross-chain stress: no price gap between chains reaches 10 bps. Not judged as dislocations, gas cost unknown: base.',
    })
  })

  test('a net that prints as 0 is no opportunity', () => {
    // A gross of 13.043 bps at a cost of 13.04.
    const gap = 10_000 * Math.log1p(13.043 / 10_000)
    const market = sampled(3, (asset, chain) => (asset === 'ETH' && chain === 'base' ? gap : 0))
    const answer = read(documentOf(market))
    expect(answer.dislocations[0]).toMatchObject({ net_bps: 0 })
    expect(answer.opportunities).toEqual([])
  })

  test.each([
    { grossBps: 9.996, count: 7 },
    { grossBps: 9.994, count: 0 },
  ])('a gross of $grossBps bps is judged as printed', ({ grossBps, count }) => {
    const gap = 10_000 * Math.log1p(grossBps / 10_000)
    const market = sampled(3, (asset, chain) => (asset === 'ETH' && chain === 'base' ? gap : 0))
    expect(read(documentOf(market)).dislocations_count).toBe(count)
  })

  test('a rank has no finer digits than its minutes support', () => {
    const market = newMarket(new PulsePool(3))
    for (let minute = 3_000; minute > 0; minute -= 1)
      market.log.record('arb/index', START_MS - minute * 60_000, minute % 3)
    apply(market, START_MS, [...rateEvents(START_MS), ...poolEvents(START_MS)])
    // A third of the minutes equals the index of 0, and half of them count.
    expect(read(documentOf(market)).baseline.score_percentile_7d).toBe(16.7)
  })

  property.prop([fc.integer({ min: 0, max: 1e6 })], { numRuns: 25 })(
    'satisfies its schema, and its figures agree with each other',
    (seed) => {
      const answer = read(documentOf(sampled(3, scattered(seed))))
      expect([...schema.Errors(answer)]).toEqual([])
      expect(answer.stress_score).toBeCloseTo(answer.index / 100, 3)
      expect(answer.dislocations.length).toBe(Math.min(10, answer.dislocations_count))
      for (const row of answer.dislocations)
        expect(row.net_bps).toBe(Number((row.gross_bps - row.est_cost_bps).toFixed(2)))
      for (const row of answer.opportunities) {
        expect(row.net_inventory_bps).toBeGreaterThan(0)
        expect(row.net_usd).toBeCloseTo((row.net_inventory_bps / 1e4) * row.notional_usd, 9)
      }
      const details = Object.values(answer.component_details) as { contribution: number }[]
      const sum = details.reduce((total, { contribution }) => total + contribution, 0)
      expect(sum).toBeCloseTo(answer.index, 1)
      const nets = answer.dislocations.map(({ net_bps }: { net_bps: number }) => net_bps)
      expect(nets).toEqual(nets.toSorted((one: number, other: number) => other - one))
    },
  )
})

describe('missing data', () => {
  test('with fewer than five fresh chains there is no answer', () => {
    const market = newMarket(new PulsePool(3))
    apply(
      market,
      START_MS,
      eventsOf(START_MS, (chain) => chains.indexOf(chain) < 4),
    )
    expect(documentOf(market).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'chains with fresh prices',
      have: 4,
      need: 5,
    })
  })

  test('five fresh chains without an asset on three of them give no answer', () => {
    const market = newMarket(new PulsePool(3))
    const assetsOn = ['ETH', 'ETH', 'BTC', 'BTC', 'USDC']
    const pools = poolEvents(START_MS).filter(
      (event) => event.kind !== 'pool' || event.asset === assetsOn[chains.indexOf(event.chain)],
    )
    apply(market, START_MS, [...rateEvents(START_MS), ...pools])
    expect(documentOf(market).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'assets with fresh prices on 3 chains',
      have: 0,
      need: 1,
    })
  })

  test('without a known gas cost no gap can be judged, and there is no answer', () => {
    const market = newMarket(new PulsePool(3))
    const pools = poolEvents(START_MS, (asset, chain) =>
      asset === 'ETH' && chain === 'base' ? 40 : 0,
    )
    const known = [...rateEvents(START_MS), ...pools].filter(({ kind }) => kind !== 'chain')
    apply(market, START_MS, known)
    expect(documentOf(market).views['']).toEqual({
      kind: 'low-coverage',
      missing: 'pairs of chains with known gas costs',
      have: 0,
      need: 1,
    })
  })

  test('before the first sample there is no answer', () => {
    expect(documentOf(newMarket(new PulsePool(3))).views['']?.kind).toBe('low-coverage')
  })

  test('a stale chain is shown with its age and lowers the coverage', () => {
    const market = sampled(1)
    const nowMs = START_MS + 130_000
    apply(
      market,
      nowMs,
      eventsOf(nowMs, (chain) => chain !== 'polygon'),
    )
    const document = documentOf(market, nowMs)
    const answer = read(document, nowMs)
    const row = (chain: string) =>
      answer.chains.find((one: { chain: string }) => one.chain === chain)
    expect(row('polygon')).toMatchObject({
      status: 'stale',
      is_fresh: false,
      data_age_seconds: 130,
    })
    expect(row('base')).toMatchObject({ status: 'ok', is_fresh: true, data_age_seconds: 0 })
    expect(answer.chains_scanned).toBe(7)
    expect(answer.meta.quality.coverage_pct).toBe(87.5)
    expect(answer.meta.warnings).toContain('partial_data')
    expect(answer.assets[0].chains[4]).toMatchObject({
      status: 'LATE',
      price_usd: null,
      gap_bps: null,
      age_seconds: 130,
    })
  })

  test('a thin pool is shown without a price', () => {
    const market = newMarket(new PulsePool(3))
    const thin = pool('base', 'ETH', START_MS, { balanceQuote: 1e5 })
    apply(market, START_MS, [...eventsOf(START_MS), thin])
    expect(read(documentOf(market)).assets[0].chains[2]).toMatchObject({
      status: 'THIN',
      price_usd: null,
      gap_bps: null,
      liquidity_usd: 1e5,
    })
  })

  test('a balance that cannot be traded hides no deeper pool', () => {
    const market = newMarket(new PulsePool(3))
    const idle = pool('base', 'ETH', START_MS, { pool: 'idle', balanceQuote: 1e9, reserveQuote: 1 })
    apply(market, START_MS, [...eventsOf(START_MS), idle])
    expect(read(documentOf(market)).assets[0].chains[2]).toMatchObject({
      status: 'OK',
      liquidity_usd: 1e7,
    })
  })

  test('a short history gives a warning and no rank', () => {
    expect(read(documentOf(sampled(3))).meta.warnings).toContain('short_history')
  })

  test('a block with a future timestamp is confirmed at its receipt', () => {
    const market = newMarket(new PulsePool(3))
    const ahead = poolEvents(START_MS + 20_000).map((event) => ({
      ...event,
      timeReceivedMs: START_MS,
    }))
    apply(market, START_MS, [...rateEvents(START_MS), ...ahead])
    expect(read(documentOf(market, START_MS), START_MS + 1_000).meta.data_age_seconds).toBe(1)
  })

  test('the answer is refused when its oldest block is older than two minutes', () => {
    const view = documentOf(sampled(1)).views['']
    const dex = view?.kind === 'answer' ? view.inputs.find(({ name }) => name === 'dex') : null
    expect(dex).toMatchObject({ isLoadBearing: true, ageMsMax: 120_000, confirmedAtMs: START_MS })
  })
})

type GapBps = (asset: ArbAsset, chain: Chain) => number

function eventsOf(nowMs: number, isAlive: (chain: Chain) => boolean = () => true) {
  const pools = poolEvents(nowMs).filter((event) => 'chain' in event && isAlive(event.chain))
  return [...rateEvents(nowMs), ...pools]
}

function apply(market: MarketState, nowMs: number, events: readonly ExternalEvent[]): void {
  for (const event of events) market.apply(event)
  market.advance(nowMs)
}

/** All chains, told every ten seconds. */
function sampled(samples: number, gapBps?: GapBps): MarketState {
  const market = newMarket(new PulsePool(3))
  for (let sample = 0; sample < samples; sample += 1) {
    const nowMs = START_MS + sample * STEP_MS
    apply(market, nowMs, [...rateEvents(nowMs), ...poolEvents(nowMs, gapBps)])
  }
  return market
}

/** Gaps between -100 and 100 bps, the same for the same seed. */
function scattered(seed: number): GapBps {
  return (asset, chain) => {
    const place = chains.indexOf(chain) * 7 + asset.length * 31 + asset.charCodeAt(0)
    return 100 * Math.sin(seed * 12.9898 + place * 78.233)
  }
}

function documentOf(market: MarketState, nowMs = READ_MS): Document {
  return arb.render(arb.gather(market, nowMs), {
    key: 'arb/*',
    version: 1,
    renderedAtMs: nowMs,
    snapshotId: 'snp',
    engineVersion: '0.0.0',
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the schema is checked above
function read(document: Document, nowMs = READ_MS): any {
  const view = document.views['']
  if (view?.kind !== 'answer') throw new Error(`no answer: ${JSON.stringify(view)}`)
  const facts = { nowMs, executionMs: 0.1, coinsAvailable: 0 }
  return JSON.parse(fillDocument(document, view, facts).toString('utf8'))
}
