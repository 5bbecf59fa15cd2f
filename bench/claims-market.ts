import type { MarketView } from '../src/compute/market-view.ts'
import { poolEvents, rateEvents } from '../src/compute/testing/chain-tape.ts'
import { exchangeQuote, externalEvents, poolOf } from '../src/compute/testing/external-events.ts'
import { seededRandom } from '../src/compute/track-record-statistics/seeded-random.ts'
import type { Batch } from '../src/domain/event.ts'
import { assetOf } from '../src/domain/external.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import { VirtualVenue } from '../test/support/virtual-venue.ts'

export type Arrival = { readonly batch: Batch; readonly atMs: number }

const SEED = 7
const EXTERNAL_MS = 3_000
/** Of a gap, per step of {@link EXTERNAL_MS}: half of it is left after about ten minutes. */
const GAP_KEPT = 0.9965
/** Deviations of gaps, bps: beyond the noise of their answers for a part of the time. */
const GAP_BPS = 40
const PEG_BPS = 4
const CHAIN_PRICES_USD = { ETH: 3_000, BTC: 60_000, USDC: 1 }

/**
 * The simulated venue at the rate of the real one, and external prices that go away from it and come back, in virtual
 * time: every rule but `zone.liquidated@1` has what it needs to make claims.
 */
export class ClaimsMarket {
  readonly #virtual: VirtualVenue
  readonly #random = seededRandom(SEED)
  readonly #gaps = new Map<string, number>()
  readonly #marks = new Map<string, number>()
  readonly #unsubscribe: () => void
  #arrivals: Arrival[] = []
  #externalMs: number

  /** @param view of a processor that takes the arrivals: it says what history is missing */
  constructor(coins: number, startMs: number, view: () => MarketView) {
    this.#externalMs = startMs
    this.#virtual = new VirtualVenue(seededMarket({ seed: SEED, startMs, coins }), startMs)
    const feed = hyperliquidFeed(
      {
        wsUrl: 'ws://venue',
        infoUrl: 'http://venue',
        weightPerMinute: 1_000,
        sockets: 1,
        historyOf: (coin, nowMs) => view().missingBars(coin, nowMs),
        hourlyOf: (coin, nowMs) => view().missingHoursFromMs(coin, nowMs),
        auditOf: (coin) => view().barsToAudit(coin),
      },
      this.#virtual.runtime(),
    )
    const subscription = feed.subscribe((batch) => this.#add(batch))
    this.#unsubscribe = () => subscription.unsubscribe()
  }

  /** What arrives up to an instant. */
  until(timeMs: number): readonly Arrival[] {
    while (this.#externalMs < timeMs) {
      this.#virtual.runUntil(this.#externalMs)
      for (const batch of this.#externalBatches(this.#externalMs)) this.#add(batch)
      this.#externalMs += EXTERNAL_MS
    }
    this.#virtual.runUntil(timeMs)
    const arrivals = this.#arrivals
    this.#arrivals = []
    return arrivals
  }

  stop(): void {
    this.#unsubscribe()
  }

  #add(batch: Batch): void {
    this.#arrivals.push({ batch, atMs: this.#virtual.nowMs })
    for (const event of batch)
      if (event.kind === 'context') this.#marks.set(event.coin, event.markPrice)
  }

  *#externalBatches(timeMs: number): Generator<Batch> {
    const usdcUsd = 1 + this.#gap('peg', PEG_BPS) / 10_000
    for (const [coin, markPrice] of this.#marks) {
      const asset = assetOf(coin)?.asset ?? coin
      const priceUsd = markPrice * Math.exp(this.#gap(`basis ${coin}`, GAP_BPS) / 10_000)
      const poolPrice = priceUsd * Math.exp(this.#gap(`pool ${coin}`, GAP_BPS) / 10_000)
      yield [...externalEvents(asset, priceUsd, timeMs), poolOf(asset, poolPrice, timeMs)]
    }
    yield rateEvents(timeMs, { ...CHAIN_PRICES_USD, USDC: usdcUsd })
    yield (['kraken', 'coinbase'] as const).map((exchange) =>
      exchangeQuote(exchange, 'USDC', usdcUsd, timeMs),
    )
    yield poolEvents(timeMs, (asset, chain) => this.#gap(`${asset} ${chain}`, GAP_BPS))
  }

  /** The next value of a path that returns to zero, bps. */
  #gap(path: string, deviationBps: number): number {
    // Uniform numbers with a variance of one.
    const noise = Math.sqrt(12) * (this.#random() - 0.5)
    const moved = deviationBps * Math.sqrt(1 - GAP_KEPT ** 2) * noise
    const gap = GAP_KEPT * (this.#gaps.get(path) ?? 0) + moved
    this.#gaps.set(path, gap)
    return gap
  }
}
