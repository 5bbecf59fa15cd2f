import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { basis } from '../src/compute/analyses/basis/basis.ts'
import { basisMeasure } from '../src/compute/analyses/basis/basis-measure.ts'
import { arbMeasure } from '../src/compute/external/arb/arb-measure.ts'
import { depegMeasure } from '../src/compute/external/depeg/depeg-measure.ts'
import { pegLevels } from '../src/compute/external/depeg/peg-level.ts'
import { oracleTrust } from '../src/compute/external/oracle-trust.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import type { AnyTrackerKind } from '../src/compute/market/market-state.ts'
import { MarketState } from '../src/compute/market/market-state.ts'
import { block, oraclePrice, pool, rateEvents } from '../src/compute/testing/chain-tape.ts'
import { pegTape } from '../src/compute/testing/peg-tape.ts'
import { context, universe } from '../src/compute/testing/tape.ts'
import { recentBars } from '../src/compute/track-record/recent-bars.ts'
import { hourlyCloses } from '../src/compute/volatility/hourly-closes.ts'
import type { Chain, ExternalEvent } from '../src/domain/external.ts'
import { chains } from '../src/domain/external.ts'
import {
  CONFIDENCE_BPS,
  noiseBps,
  ReferencePrices,
} from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { ExternalRig, RIG_START_MS } from './support/external-rig.ts'
import { rememberedMarket } from './support/remembered-market.ts'

/**
 * Compares planted deviations with their measurement, at both sides of every band. The noise is that of
 * docs/simulated-world.md: independent normal draws, 0.2 bps for networks, 0.4 for exchanges and chains. Two
 * hundred simulated worlds are applied directly as events of one instant; a few run through the adapters and
 * their protocols.
 */

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed)
const START_MS = RIG_START_MS
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const BPS = 1e-4
/** Of which the tests read prices; thousands of worlds are made. */
const coins = ['BTC', 'ETH']
/** Tolerance on either side of a band. */
const MARGIN_BPS = 2
const ALWAYS = { fromMs: START_MS, untilMs: START_MS + 3_600_000 }

const markets = new Map(
  SEEDS.map((seed) => [seed, rememberedMarket({ seed, startMs: START_MS, coins })]),
)

function worldOf(seed: number, ...scenario: ScenarioEvent[]): ReferencePrices {
  return new ReferencePrices({ market: isDefined(markets.get(seed)), seed, scenario })
}

function sideOf(seed: number): 1 | -1 {
  return seed % 2 === 0 ? 1 : -1
}

function isDefined<Value>(value: Value | undefined): Value {
  assert(value !== undefined)
  return value
}

/** Tracks only what is measured here, because thousands are made. */
function marketOf(...kinds: readonly AnyTrackerKind[]): MarketState {
  return new MarketState(new PulsePool(3), kinds)
}

/** Root mean square of errors. */
function deviationOf(errors: readonly number[]): number {
  return Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length)
}

describe('a basis, in 200 worlds', () => {
  const STEP_MS = 2_000

  /** Basis without a planted deviation, caused by the deviation of USDT. */
  const usualBps = (seed: number, atMs: number) =>
    (1 / isDefined(worldOf(seed).priceUsd('USDT', atMs)) - 1) / BPS

  /** Four samples of the answer with a planted basis, and the error of each. */
  const answersOf = (seed: number, plantedBps: number) => {
    const bps = plantedBps - usualBps(seed, START_MS)
    const reference = worldOf(seed, { kind: 'basis', asset: 'ETH', bps, ...ALWAYS })
    const market = marketOf(hourlyCloses, recentBars, oracleTrust, basisMeasure)
    market.apply(universe(['ETH']))
    return [0, 1, 2, 3].map((step) => {
      const nowMs = START_MS + step * STEP_MS
      const usdt = isDefined(reference.priceUsd('USDT', nowMs))
      const worth = isDefined(reference.priceUsd('ETH', nowMs))
      const venue = worth / usdt / (1 - bps * BPS)
      tellBasis(market, reference, venue, nowMs)
      const measured = answerOf(market, nowMs).basis
      return { ...measured, awayBps: measured.basis_bps - (venue / worth - 1) / BPS }
    })
  }

  test('is significant 2 bps beyond the band in every sample, and 2 bps within it in none', () => {
    const wrong: string[] = []
    const errors: number[] = []
    for (const seed of SEEDS) {
      for (const beyondBps of [MARGIN_BPS, -MARGIN_BPS]) {
        const planted = sideOf(seed) * (CONFIDENCE_BPS + beyondBps)
        for (const { significant, band, awayBps } of answersOf(seed, planted)) {
          expect(band.total_bps).toBeCloseTo(CONFIDENCE_BPS, 1)
          errors.push(awayBps)
          if (significant !== beyondBps > 0) wrong.push(`seed ${seed}: ${planted}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(deviationOf(errors)).toBeLessThan(1.1 * noiseBps.oracle)
    expect(deviationOf(errors)).toBeGreaterThan(0.9 * noiseBps.oracle)
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(5 * noiseBps.oracle)
  })
})

function tellBasis(
  market: MarketState,
  reference: ReferencePrices,
  venue: number,
  nowMs: number,
): void {
  const seen = (asset: string) => isDefined(reference.seenUsd('pyth-hermes', asset, nowMs))
  const confidenceUsd = seen('ETH') * reference.confidenceBps('pyth-hermes', 'ETH', nowMs) * BPS
  const times = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  market.apply({ ...context('ETH', { oraclePrice: venue, markPrice: venue }), ...times })
  market.apply({ ...oraclePrice('ETH', seen('ETH'), nowMs), confidenceUsd })
  market.apply(oraclePrice('USDT', seen('USDT'), nowMs))
  market.advance(nowMs)
}

function answerOf(market: MarketState, nowMs: number) {
  const identity = { key: 'basis/ETH', version: 1, renderedAtMs: nowMs } as const
  const rendering = { ...identity, snapshotId: 'snp_truth', engineVersion: '0' }
  const document = basis.render(isDefined(market.coin('ETH')), rendering, market)
  const view = document.views['']
  assert(view?.kind === 'answer')
  const facts = { nowMs, executionMs: 1, coinsAvailable: 1 }
  return JSON.parse(fillDocument(document, view, facts).toString('utf8'))
}

describe('a gap between chains, in 200 worlds', () => {
  const STEP_MS = 10_000
  const LEG_BPS = 5 + 0.5
  const GAS_BPS = 0.2
  const REBALANCE_BPS = 2
  /** Cost of the cheapest pair: fee, impact and gas of both legs, plus rebalancing. */
  const COST_BPS = 2 * LEG_BPS + 2 * GAS_BPS + REBALANCE_BPS
  /** Half of the neutral band: the costs of one leg, plus 2 bps. */
  const BAND_BPS = LEG_BPS + GAS_BPS + 2
  /** Of one chain against the other, one deviation. */

  type Seen = {
    /** By sample: whether a trade on that chain is profitable, and whether its gap exceeds the band. */
    readonly paying: readonly boolean[]
    readonly isBeyond: readonly boolean[]
    readonly errors: readonly number[]
  }

  /** Samples of a world with a planted gap of ETH on one chain from the second sample on. */
  const samplesOf = (seed: number, plantedBps: number, count = 3): Seen => {
    const chain = isDefined(chains[seed % chains.length])
    const bps = sideOf(seed) * plantedBps
    const fromMs = START_MS + STEP_MS
    const gap: ScenarioEvent = { kind: 'gap', chain, asset: 'ETH', bps, ...ALWAYS, fromMs }
    const reference = worldOf(seed, gap)
    const market = marketOf(oracleTrust, arbMeasure)
    const errors: number[] = []
    const samples = Array.from({ length: count }, (_, sample) => {
      const nowMs = START_MS + sample * STEP_MS
      for (const event of chainEvents(reference, nowMs)) market.apply(event)
      market.advance(nowMs)
      const { latest } = market.of(arbMeasure)
      const gaps = latest?.assets.find(({ asset }) => asset === 'ETH')?.gaps ?? []
      for (const { cell, gapBps } of gaps)
        errors.push(gapBps - (cell.chain === chain && sample > 0 ? bps : 0))
      const isOn = (one: { readonly buyChain: Chain; readonly sellChain: Chain }) =>
        (bps > 0 ? one.sellChain : one.buyChain) === chain
      const own = gaps.find(({ cell }) => cell.chain === chain)
      return {
        paying: latest?.opportunities.some((one) => one.asset === 'ETH' && isOn(one)) ?? false,
        isBeyond: Math.abs(own?.excessBps ?? 0) > (own?.bandBps ?? 0),
      }
    })
    return {
      paying: samples.map(({ paying }) => paying),
      isBeyond: samples.map(({ isBeyond }) => isBeyond),
      errors,
    }
  }

  const seedsWhere = (plantedBps: number, is: (seen: Seen) => boolean) =>
    SEEDS.filter((seed) => is(samplesOf(seed, plantedBps)))

  test('is measured up to the noise of one chain relative to the median of eight', () => {
    const errors = SEEDS.flatMap((seed) => samplesOf(seed, COST_BPS, 3).errors)
    expect(deviationOf(errors)).toBeGreaterThan(0.7 * noiseBps.chain)
    expect(deviationOf(errors)).toBeLessThan(1.1 * noiseBps.chain)
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(5 * noiseBps.chain)
  })

  test('2 bps beyond the band it is detected in two samples, and 2 bps within not twice', () => {
    const missed = seedsWhere(BAND_BPS + MARGIN_BPS, ({ isBeyond }) => !isBeyond.includes(true))
    const alarmed = seedsWhere(
      BAND_BPS - MARGIN_BPS,
      ({ isBeyond: [, second, third] }) => second === true && third === true,
    )
    expect({ missed, alarmed }).toEqual({ missed: [], alarmed: [] })
  })

  test('2 bps beyond the costs it is found in the second of two samples in every reference', () => {
    const missed = seedsWhere(COST_BPS + MARGIN_BPS, ({ paying }) => paying.at(-1) === false)
    expect(missed).toEqual([])
  })

  test('2 bps within the costs it is found in none', () => {
    const alarmed = seedsWhere(COST_BPS - MARGIN_BPS, ({ paying }) => paying.includes(true))
    expect(alarmed).toEqual([])
  })

  test('is never found before its second sample', () => {
    const early = SEEDS.filter((seed) => samplesOf(seed, COST_BPS + 20, 2).paying.includes(true))
    expect(early).toEqual([])
  })
})

/** Every chain's pools at this instant, at its own prices; the gas of a swap is one dollar. */
function chainEvents(reference: ReferencePrices, nowMs: number): ExternalEvent[] {
  const by = (asset: string) => isDefined(reference.seenUsd('pyth-hermes', asset, nowMs))
  const usd = { USDC: by('USDC'), USDT: by('USDT') }
  const truth = (asset: string) => isDefined(reference.priceUsd(asset, nowMs))
  return [
    ...rateEvents(nowMs, { ETH: by('ETH'), BTC: by('BTC'), USDC: usd.USDC }),
    ...chains.flatMap((chain) => {
      const seen = (asset: string) => isDefined(reference.seenOnChainUsd(chain, asset, nowMs))
      return [
        block(chain, nowMs, { swapGasNative: 0.01 }),
        pool(chain, 'ETH', nowMs, { price: seen('ETH') / truth('USDC') }),
        pool(chain, 'BTC', nowMs, { price: seen('BTC') / truth('USDC') }),
        pool(chain, 'USDC', nowMs, { price: seen('USDC') / truth('USDT') }),
      ]
    }),
  ]
}

describe('a depeg of USDC, in 200 worlds', () => {
  const STEP_MS = 5_000
  const AFTER_MS = START_MS + MINUTE_MS

  const applyChains = (market: MarketState, reference: ReferencePrices, nowMs: number) => {
    const quoted = (source: Parameters<ReferencePrices['seenUsd']>[0], asset: string) => {
      const isChain = (chains as readonly string[]).includes(source)
      // The quote currency has its exact value, so a chain's noise counts once.
      return isDefined(
        isChain && asset === 'USDT'
          ? reference.priceUsd(asset, nowMs)
          : reference.seenUsd(source, asset, nowMs),
      )
    }
    for (const event of pegTape(nowMs, quoted)) market.apply(event)
    market.advance(nowMs)
  }

  /** Required distance beyond a threshold: the sum of confidence and resolution. */
  const explainedBps = (() => {
    const market = marketOf(depegMeasure)
    applyChains(market, worldOf(0), START_MS)
    const price = market.of(depegMeasure).sample?.price
    assert(price)
    return price.confidenceBps + price.resolutionBps
  })()

  /** The level after its required duration plus one sample, and all errors of the price. */
  const levelOf = (seed: number, level: number, beyondBps: number) => {
    const { fromBps, neededMs } = isDefined(pegLevels[level])
    const wanted = sideOf(seed) * (fromBps + explainedBps + beyondBps)
    const calm = worldOf(seed)
    const usualBps = (isDefined(calm.priceUsd('USDC', AFTER_MS)) - 1) / BPS
    const depeg = { kind: 'depeg', asset: 'USDC', bps: wanted - usualBps, ...ALWAYS } as const
    const reference = worldOf(seed, { ...depeg, fromMs: AFTER_MS })
    const market = marketOf(depegMeasure)
    const errors: number[] = []
    let early = 0
    const untilMs = AFTER_MS + neededMs
    for (let nowMs = AFTER_MS - 2 * STEP_MS; nowMs <= untilMs; nowMs += STEP_MS) {
      applyChains(market, reference, nowMs)
      const { sample, level: reached } = market.of(depegMeasure)
      const truthBps = (isDefined(reference.priceUsd('USDC', nowMs)) - 1) / BPS
      errors.push((sample?.price?.deviationBps ?? Number.NaN) - truthBps)
      if (nowMs < untilMs) early = Math.max(early, reached.level)
    }
    return { level: market.of(depegMeasure).level.level, early, errors }
  }

  test('reaches its level after the required duration 2 bps beyond the threshold, and not 2 bps within', () => {
    const wrong: string[] = []
    const errors: number[] = []
    for (const seed of SEEDS) {
      const level = 1 + (seed % (pegLevels.length - 1))
      const beyond = levelOf(seed, level, MARGIN_BPS)
      const within = levelOf(seed, level, -MARGIN_BPS)
      if (beyond.level !== level) wrong.push(`seed ${seed}: ${beyond.level} for ${level}`)
      if (beyond.early >= level) wrong.push(`seed ${seed}: ${level} too early`)
      if (within.level >= level) wrong.push(`seed ${seed}: ${within.level} below ${level}`)
      errors.push(...beyond.errors, ...within.errors)
    }
    expect(wrong).toEqual([])
    expect(deviationOf(errors)).toBeLessThan(noiseBps.exchange)
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(4 * noiseBps.exchange)
  })
})

/** The same through the whole service: protocols, cadences, blocks of different ages. */
test('a reference is measured through the adapters as it is', () => {
  const seed = 1
  const during = (from: number, until: number) => ({
    fromMs: START_MS + from * SECOND_MS,
    untilMs: START_MS + until * SECOND_MS,
  })
  const [basisBps, gapBps, depegBps] = [20, 40, -150]
  const planted = {
    basis: during(90, 120),
    gap: during(130, 190),
    depeg: during(220, 600),
  }
  const scenario: ScenarioEvent[] = [
    { kind: 'basis', asset: 'ETH', bps: basisBps, ...planted.basis },
    { kind: 'gap', chain: 'base', asset: 'ETH', bps: gapBps, ...planted.gap },
    { kind: 'depeg', asset: 'USDC', bps: depegBps, ...planted.depeg },
  ]
  const rig = new ExternalRig({ seed, scenario, pythKey: 'any' })
  const isIn = (
    { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
    lateMs: number,
  ) => rig.nowMs >= fromMs + lateMs && rig.nowMs < untilMs
  const isOutOf = (span: typeof planted.gap, lateMs: number) =>
    rig.nowMs < span.fromMs || rig.nowMs >= span.untilMs + lateMs
  const priceAt = (iso: string) => isDefined(rig.reference.priceUsd('ETH', Date.parse(iso)))
  const worthBps = (asset: string) =>
    (isDefined(rig.reference.priceUsd(asset, rig.nowMs)) - 1) / BPS

  const gaps: number[] = []
  for (let seconds = 60; seconds <= 540; seconds += 2) {
    rig.runUntil(seconds * SECOND_MS)
    const at = `at ${seconds} s`
    const [basisResult, arbResult, depegResult] = [rig.basis('ETH'), rig.arb, rig.depeg]
    assert(basisResult.status === 200 && arbResult.status === 200 && depegResult.status === 200)

    const { basis_bps, significant } = basisResult.body.basis
    // Rendered every two seconds from a price received every three.
    const isBasis = isIn(planted.basis, 6 * SECOND_MS)
    if (isBasis || isOutOf(planted.basis, 6 * SECOND_MS)) {
      // The two prices are up to a second apart, and the market may have moved in between.
      const { mark, oracle } = basisResult.body.meta.as_of
      const movedBps = (priceAt(mark) / priceAt(oracle) - 1) / BPS
      if (Math.abs(movedBps) < 1) expect(significant, at).toBe(isBasis)
      const truthBps = (isBasis ? basisBps : 0) - worthBps('USDT') + movedBps
      expect(Math.abs(basis_bps - truthBps), at).toBeLessThan(3)
    }

    const { assets, opportunities } = arbResult.body
    const isFound = opportunities.some(
      (one: { asset: string; sell_chain: string }) =>
        one.asset === 'ETH' && one.sell_chain === 'base',
    )
    // Two samples, ten seconds apart, of blocks polled every ten seconds.
    if (isIn(planted.gap, 32 * SECOND_MS)) {
      expect(isFound, at).toBe(true)
      const [eth] = assets
      gaps.push(eth.chains.find((row: { chain: string }) => row.chain === 'base').gap_bps)
    }
    if (isOutOf(planted.gap, 32 * SECOND_MS)) expect(opportunities, at).toEqual([])

    const { usdc, level } = depegResult.body
    if (isIn(planted.depeg, 12 * SECOND_MS) || rig.nowMs < planted.depeg.fromMs)
      expect(Math.abs(usdc.signed_deviation_bps - worthBps('USDC')), at).toBeLessThan(1.5)
    const lastedMs = rig.nowMs - planted.depeg.fromMs
    expect(usdc.peg_status === 'WARNING' || lastedMs < 12 * SECOND_MS, at).toBe(true)
    if (lastedMs < 300 * SECOND_MS) expect(level, at).toBe(0)
    if (lastedMs > 312 * SECOND_MS) expect(level, at).toBe(3)
  }
  const middle = isDefined(gaps.toSorted((a, b) => a - b)[gaps.length >> 1])
  expect(Math.abs(middle - gapBps)).toBeLessThan(3 * noiseBps.chain)
})
