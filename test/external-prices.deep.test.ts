import { describe, expect, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { basis } from '../src/compute/analyses/basis/basis.ts'
import { cexDex } from '../src/compute/analyses/cex-dex/cex-dex.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { exchangeQuote, oraclePrice } from '../src/compute/testing/external-events.ts'
import { context, universe } from '../src/compute/testing/tape.ts'
import type { OracleNetwork } from '../src/domain/external.ts'
import { assetOf, exchanges } from '../src/domain/external.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const UNTIL_MS = START_MS + 600_000
const always = { fromMs: START_MS, untilMs: UNTIL_MS }
/** Largest noise of a source: four deviations of the noisiest, plus the drift of a stablecoin. */
const NOISE_BPS = 3
const COINS = ['BTC', 'SOL', 'kPEPE']
const networks = ['pyth-hermes', 'redstone'] as const satisfies OracleNetwork[]
const market = seededMarket({ seed: 3, startMs: START_MS })

type Basis = {
  readonly source: string
  readonly basis_bps: number
  readonly basis_usd_adjusted_bps: number
  readonly significant: boolean
  readonly oracle_networks: readonly { readonly network: string; readonly why_not: string | null }[]
}
type CexDex = {
  readonly divergence_bps: number
  readonly cex_vs_venue_oracle_bps: number
  readonly exchanges: {
    readonly venues: readonly { readonly exchange: string; readonly is_used: boolean }[]
  }
}

/** Compares answers with the simulated reference prices and the planted events. */
describe('scenario events', () => {
  test.each(COINS)('without events %s is aligned', (coin) => {
    const { basis: measured, cexDex: divergence } = answersAfter([]).of(coin)
    expect(Math.abs(measured.basis_usd_adjusted_bps)).toBeLessThan(NOISE_BPS)
    expect(Math.abs(divergence.divergence_bps)).toBeLessThan(NOISE_BPS)
    expect(measured.source).toBe('pyth-hermes')
  })

  test.each([
    { coin: 'BTC', bps: 40 },
    { coin: 'kPEPE', bps: -25 },
  ])('a basis of $bps bps of $coin is measured', ({ coin, bps }) => {
    const asset = assetOf(coin)?.asset ?? ''
    const { basis: measured, cexDex: divergence } = answersAfter([
      { kind: 'basis', asset, bps, ...always },
    ]).of(coin)
    expect(Math.abs(measured.basis_usd_adjusted_bps - bps)).toBeLessThan(NOISE_BPS)
    expect(measured.significant).toBe(true)
    // Exchanges and networks agree on its value.
    expect(Math.abs(divergence.divergence_bps)).toBeLessThan(NOISE_BPS)
  })

  test('a depeg of USDT changes the raw basis only', () => {
    const { basis: measured, cexDex: divergence } = answersAfter([
      { kind: 'depeg', asset: 'USDT', bps: -300, ...always },
    ]).of('BTC')
    expect(measured.basis_bps).toBeGreaterThan(300)
    expect(Math.abs(measured.basis_usd_adjusted_bps)).toBeLessThan(NOISE_BPS)
    expect(Math.abs(divergence.divergence_bps)).toBeLessThan(NOISE_BPS)
  })

  test('a network with wrong prices is outvoted', () => {
    const { basis: measured } = answersAfter([
      { kind: 'offset', source: 'pyth-hermes', bps: 80, ...always },
    ]).of('SOL')
    expect(measured.source).toBe('redstone')
    expect(measured.oracle_networks[0]).toMatchObject({ why_not: 'outvoted' })
    expect(Math.abs(measured.basis_usd_adjusted_bps)).toBeLessThan(NOISE_BPS)
  })

  test('a network with a wide confidence interval is not used', () => {
    const { basis: measured } = answersAfter([
      { kind: 'confidence', network: 'pyth-hermes', factor: 60, ...always },
    ]).of('SOL')
    expect(measured.source).toBe('redstone')
    expect(measured.oracle_networks[0]).toMatchObject({ why_not: 'wide_confidence' })
  })

  test('an exchange that is 700 bps off is not used', () => {
    const { cexDex: divergence } = answersAfter([
      { kind: 'offset', source: 'okx', asset: 'BTC', bps: 700, ...always },
    ]).of('BTC')
    const okx = divergence.exchanges.venues.find(({ exchange }) => exchange === 'okx')
    expect(okx?.is_used).toBe(false)
    expect(Math.abs(divergence.divergence_bps)).toBeLessThan(NOISE_BPS)
  })
})

/** The answers after a few seconds of a scenario, with events of every source each second. */
function answersAfter(scenario: readonly ScenarioEvent[]) {
  const reference = new ReferencePrices({ market, seed: 3, scenario })
  const processor = new Processor({ coin: [basis, cexDex], market: [] }, '0')
  processor.process([universe(COINS)])
  const seen = (source: Parameters<ReferencePrices['seenUsd']>[0], asset: string, atMs: number) => {
    const usd = reference.seenUsd(source, asset, atMs)
    if (usd === undefined) throw new Error(`${source} sees no ${asset}`)
    return usd
  }
  const bodies = new Map<string, unknown>()
  for (let nowMs = START_MS; nowMs < START_MS + 5_000; nowMs += 1_000) {
    const stamp = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
    for (const coin of COINS) {
      const { oraclePrice: oracle, markPrice } = market.context(coin, nowMs) ?? {}
      if (oracle === undefined || markPrice === undefined) throw new Error(`no ${coin}`)
      processor.process([context(coin, { oraclePrice: oracle, markPrice, ...stamp })])
    }
    for (const asset of [...COINS.map((coin) => assetOf(coin)?.asset ?? ''), 'USDT']) {
      for (const network of networks) {
        const priceUsd = seen(network, asset, nowMs)
        const confidenceUsd = (reference.confidenceBps(network, asset, nowMs) * priceUsd) / 10_000
        const ema = { priceUsd, confidenceUsd: priceUsd * 2.5e-4 }
        const changes = { confidenceUsd, ema }
        processor.process([oraclePrice(network, asset, priceUsd, nowMs, changes)])
      }
      for (const exchange of exchanges) {
        const isUsd = exchange === 'coinbase' || exchange === 'kraken'
        if (asset === 'USDT' && !isUsd) continue
        const rate = isUsd ? 1 : seen(exchange, 'USDT', nowMs)
        const quote = isUsd ? ('USD' as const) : ('USDT' as const)
        const mid = seen(exchange, asset, nowMs) / rate
        processor.process([exchangeQuote(exchange, asset, mid, nowMs, { quote })])
      }
    }
    for (let phase = 0; phase < 3 * PUBLISH_PHASES; phase += 1)
      for (const document of processor.publish(nowMs)) {
        const answer = document.views['']
        if (answer?.kind !== 'answer') continue
        const facts = { nowMs, executionMs: 0, coinsAvailable: 1 }
        bodies.set(document.key, JSON.parse(fillDocument(document, answer, facts).toString()))
      }
  }
  return {
    of: (coin: string) => ({
      basis: (bodies.get(`basis/${coin}`) as { readonly basis: Basis }).basis,
      cexDex: bodies.get(`cex-dex/${coin}`) as CexDex,
    }),
  }
}
