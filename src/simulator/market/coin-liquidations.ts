import type { EnforcedTrade, Enforcement } from './enforced-trades.ts'
import { EnforcedTrades } from './enforced-trades.ts'
import type { Holding, Holdings } from './holdings.ts'
import { COOLDOWN_MS, PARTIAL_SHARE, verdictOn } from './liquidation-rule.ts'
import { maintenanceUsd } from './margin.ts'
import type { Market } from './market.ts'
import { bits } from './noise.ts'

/** The vault sells this share of what it took over … */
const UNWOUND_SHARE = 0.25
/** … this often … */
const UNWIND_MS = 30_000
/** … and everything once it is worth less than this. */
const UNWOUND_WHOLE_USD = 20_000
/** Counterparties of one closing on the book, at most. */
const MAKERS_MAX = 3

type Moment = { readonly markPrice: number; readonly timeMs: number }

/** Closes the positions of a coin that lack margin, by the venue's rules, and records the trades. */
export class CoinLiquidations {
  readonly #market: Market
  readonly #coin: string
  readonly #key: number
  readonly #holdings: Holdings
  readonly #trades = new EnforcedTrades()
  /** Contracts that deleveraging closed on both sides since the last call of `takeClosed`. */
  #closedLots = 0

  constructor(market: Market, coin: string, key: number, holdings: Holdings) {
    this.#market = market
    this.#coin = coin
    this.#key = key
    this.#holdings = holdings
  }

  /** After the first instant, up to and including the second. */
  trades(afterMs: number, throughMs: number): readonly EnforcedTrade[] {
    return this.#trades.between(afterMs, throughMs)
  }

  /** Contracts that were closed on both sides since the last call. */
  takeClosed(): number {
    const lots = this.#closedLots
    this.#closedLots = 0
    return lots
  }

  /** One step of the mark. */
  step(at: Moment): void {
    const { markPrice, timeMs } = at
    if (timeMs % UNWIND_MS === 0) this.#unwind(at)
    const holdings = this.#holdings
    if (markPrice > holdings.longFrom && markPrice < holdings.shortFrom) return
    for (const holding of holdings.all) this.#judge(holding, at)
    holdings.note()
  }

  /** Closes a position on the book, its holders of the same side taking it over. */
  sell(enforcement: Enforcement, holding: Holding, lots: number, at: Moment): void {
    const from = this.#holdings.all.indexOf(holding)
    const draw = bits(this.#key, Math.floor(at.timeMs / 1_000) + 31 * from)
    const makers = Math.min(lots, 1 + (draw % MAKERS_MAX))
    for (let i = 0; i < makers; i++) {
      const part = Math.floor((lots * (i + 1)) / makers) - Math.floor((lots * i) / makers)
      const maker = this.#holdings.other(bits(draw, 1 + i), from, holding.slot.side)
      this.#exchange(enforcement, holding, maker, part, at)
      this.#holdings.give(maker, part, at.markPrice)
    }
  }

  #judge(holding: Holding, at: Moment): void {
    const { slot, lots, rawUsd, partialAtMs } = holding
    if (lots === 0 || !slot.isIsolated) return
    const worthUsd = this.#holdings.sizeBase(holding) * at.markPrice
    const notionalUsd = Math.abs(worthUsd)
    const verdict = verdictOn({
      equityUsd: worthUsd + rawUsd,
      maintenanceUsd: maintenanceUsd(this.#holdings.tiers, notionalUsd),
      notionalUsd,
      isCooling: at.timeMs < partialAtMs + COOLDOWN_MS,
      wasPartial: !Number.isNaN(partialAtMs),
    })
    switch (verdict) {
      case 'none':
        break
      case 'partial':
        this.sell('market', holding, Math.ceil(PARTIAL_SHARE * lots), at)
        if (holding.lots > 0) holding.partialAtMs = at.timeMs
        break
      case 'whole':
        this.sell('market', holding, lots, at)
        break
      case 'backstop':
        this.#takeOver(holding, at)
        break
      case 'bankrupt':
        this.#takeOver(holding, at)
        this.#deleverage(this.#holdings.vault(slot.side), at)
        break
      default:
        verdict satisfies never
    }
  }

  /** The vault takes the whole position; what it holds on the other side is closed by it. */
  #takeOver(holding: Holding, at: Moment): void {
    const { lots, slot } = holding
    const own = this.#holdings.vault(slot.side)
    const other = this.#holdings.vault(slot.side === 1 ? -1 : 1)
    const closed = Math.min(lots, other.lots)
    this.#exchange('backstop', holding, closed > 0 ? other : own, lots, at)
    this.#holdings.take(other, closed)
    this.#holdings.give(own, lots - closed, at.markPrice)
    this.#closedLots += closed
  }

  /** Closes the vault's position against the holders of the other side that have won the most. */
  #deleverage(vault: Holding, at: Moment): void {
    const { side } = vault.slot
    const winners = this.#holdings.all
      .filter(({ slot, lots }) => slot.side !== side && lots > 0)
      .toSorted((one, other) => side * (other.entryPrice - one.entryPrice))
    for (const winner of winners) {
      const lots = Math.min(vault.lots, winner.lots)
      this.#exchange('deleveraging', vault, winner, lots, at)
      this.#holdings.take(winner, lots)
      this.#closedLots += lots
    }
  }

  #unwind(at: Moment): void {
    for (const side of [1, -1] as const) {
      const vault = this.#holdings.vault(side)
      const usd = Math.abs(this.#holdings.sizeBase(vault)) * at.markPrice
      const isSmall = usd < UNWOUND_WHOLE_USD
      this.sell(
        'unwinding',
        vault,
        isSmall ? vault.lots : Math.ceil(UNWOUND_SHARE * vault.lots),
        at,
      )
    }
  }

  /** Records the trade and takes its lots from the taker. The maker's are the caller's. */
  #exchange(
    enforcement: Enforcement,
    taker: Holding,
    maker: Holding,
    lots: number,
    { markPrice, timeMs }: Moment,
  ): void {
    if (lots === 0) return
    const coin = this.#coin
    this.#trades.add({
      ...{ timeMs, coin, enforcement, lots, markPrice },
      side: taker.slot.side === 1 ? 'A' : 'B',
      taker: taker.slot.account,
      maker: maker.slot.account,
      price: this.#market.lastTrades(coin, timeMs, 1)[0]?.price ?? markPrice,
      takerLots: taker.slot.side * taker.lots,
      makerLots: maker.slot.side * maker.lots,
    })
    this.#holdings.close(taker, lots, markPrice)
  }
}
