import type { MarketEvent } from '../../domain/event.ts'
import type { OracleNetwork } from '../../domain/external.ts'
import { assetOf } from '../../domain/external.ts'
import type { MarketState, MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { driftBpsPerRootSecond, USUAL_DRIFT_BPS } from '../volatility/drift.ts'
import { exchangePrices, venueUsd } from './exchange-reference.ts'
import type { OracleChoice } from './oracle-choice.ts'
import { chooseOracle, unfitNow } from './oracle-choice.ts'
import type { OracleEvidence } from './oracle-faults.ts'

/** Every asset is checked once a second, another share of them at each tick. */
const TICK_MS = 50
const SHARES = 20
/** More than any network has. */
const ASSETS_MAX = 1_024
const STABLECOINS = ['USDC', 'USDT']

/**
 * Remembers which network had a fault for which asset, so that answers do not alternate between networks. After a
 * restart the past is unknown.
 */
class OracleTrust implements MarketTracker {
  readonly inputs = ['oracle-price'] as const
  readonly #unfitAtMs = new Map<string, Map<OracleNetwork, number>>()
  #tick = Number.NaN
  readonly #known = new Set<string>()
  #knownCoins: { readonly of: unknown; readonly assets: number; readonly coins: string[] } | null =
    null

  /** Chooses the network for an asset. */
  choose(asset: string, market: MarketState, nowMs: number): OracleChoice {
    const unfit = this.#unfitAtMs.get(asset)
    return chooseOracle(market.external.oraclesOf(asset), {
      ...evidenceOf(asset, market, nowMs),
      unfitAtMs: (network) => unfit?.get(network) ?? Number.NaN,
    })
  }

  /** Coins of the venue that any network covers, in the venue's order. */
  knownCoins(market: MarketState): readonly string[] {
    const held = this.#knownCoins
    if (held?.of === market.listings && held.assets === this.#known.size) return held.coins
    const coins = Array.from(market.coins(), ({ listing }) => listing.coin).filter((coin) =>
      this.#known.has(assetOf(coin)?.asset ?? ''),
    )
    this.#knownCoins = { of: market.listings, assets: this.#known.size, coins }
    return coins
  }

  apply(event: MarketEvent): void {
    if (event.kind === 'oracle-price' && this.#known.size < ASSETS_MAX) this.#known.add(event.asset)
  }

  advance(market: MarketState, nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS)
    if (tick === this.#tick) return
    this.#tick = tick
    let share = tick % SHARES
    if (share === 0) for (const asset of STABLECOINS) this.#look(asset, market, nowMs)
    for (const { listing } of market.coins()) {
      share = (share + 1) % SHARES
      if (share !== 0) continue
      const made = assetOf(listing.coin)
      if (made !== null) this.#look(made.asset, market, nowMs)
    }
  }

  #look(asset: string, market: MarketState, nowMs: number): void {
    const feeds = market.external.oraclesOf(asset)
    // A single feed cannot be replaced.
    if (feeds.length < 2) return
    for (const network of unfitNow(feeds, evidenceOf(asset, market, nowMs))) {
      let unfit = this.#unfitAtMs.get(asset)
      if (unfit === undefined) {
        unfit = new Map()
        this.#unfitAtMs.set(asset, unfit)
      }
      unfit.set(network, nowMs)
    }
  }
}

function evidenceOf(
  asset: string,
  market: MarketState,
  nowMs: number,
): Omit<OracleEvidence, 'unfitAtMs'> {
  const { external } = market
  const coin = market.coinOf(asset)
  const scale = coin === undefined ? 1 : (assetOf(coin.listing.coin)?.scale ?? 1)
  const expectedUsd = venueUsd(coin?.context, scale, external, nowMs)
  const { reference } = exchangePrices(asset, external, expectedUsd, nowMs)
  const exchangeMidsUsd = reference?.used.map(({ midUsd }) => midUsd) ?? []
  const driftBps = coin === undefined ? USUAL_DRIFT_BPS : driftBpsPerRootSecond(coin)
  return { nowMs, expectedUsd, exchangeMidsUsd, driftBps }
}

export const oracleTrust = marketTracker('market/oracle-trust', () => new OracleTrust())
