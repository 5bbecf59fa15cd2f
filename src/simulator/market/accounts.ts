import type { HeldPosition, NewFates } from './coin-positions.ts'
import { CoinPositions } from './coin-positions.ts'
import type { EnforcedTrade } from './enforced-trades.ts'
import { crossValueShare, freeUsd, LIQUIDATOR, slotsOf } from './holders.ts'
import { maintenanceUsd, modelLiquidationPrice } from './margin.ts'
import type { Instrument, Market } from './market.ts'

/** One position of an account as the venue's books have it. */
export type AccountPosition = HeldPosition & {
  readonly instrument: Instrument
  readonly markPrice: number
  readonly liquidationPrice: number | null
}

export type Account = {
  /** In the universe's order. */
  readonly positions: readonly AccountPosition[]
  /** What backs all positions that share margin, their profits included. */
  readonly crossValueUsd: number
  readonly crossMaintenanceUsd: number
}

/**
 * The accounts behind a market's open interest. Which coins an account may hold is fixed, how much it
 * holds follows from the market: an account at an instant is always the same.
 */
export class Accounts {
  readonly #market: Market
  readonly #startMs: number
  readonly #newFates: NewFates | undefined
  readonly #coins = new Map<string, CoinPositions>()
  /** Coins that an account may hold. */
  readonly #coinsOf = new Map<number, string[]>()
  readonly #indexed = new Set<string>()
  #next = 0

  /** @param newFates without it liquidations follow from the market alone */
  constructor(market: Market, startMs: number, newFates?: NewFates) {
    this.#market = market
    this.#startMs = startMs
    this.#newFates = newFates
  }

  account(account: number, atMs: number): Account {
    const held = this.#heldBy(account, atMs)
    const shared = held.filter(({ isIsolated }) => !isIsolated)
    const crossValueUsd =
      freeUsd(account) +
      crossValueShare(account) *
        shared.reduce((usd, { sizeBase, markPrice }) => usd + Math.abs(sizeBase) * markPrice, 0)
    const crossMaintenanceUsd = shared.reduce((usd, one) => usd + one.maintenanceUsd, 0)
    const positions = held.map(({ maintenanceUsd: own, ...position }) => {
      const { sizeBase, markPrice, rawUsd, isIsolated, instrument } = position
      const { tiers } = this.#positionsOf(instrument)
      const price = isIsolated
        ? modelLiquidationPrice(tiers, sizeBase, rawUsd)
        : modelLiquidationPrice(
            tiers,
            sizeBase,
            crossValueUsd - sizeBase * markPrice,
            crossMaintenanceUsd - own,
          )
      return { ...position, liquidationPrice: price }
    })
    return { positions, crossValueUsd, crossMaintenanceUsd }
  }

  /** Everything that is held of a coin: as much long as short, which is its open interest of the minute. */
  holdersOf(coin: string, atMs: number): readonly HeldPosition[] {
    const instrument = this.#market.instrument(coin)
    return instrument === undefined ? [] : this.#positionsOf(instrument).at(atMs)
  }

  /** Trades of a coin that the venue enforced after the first instant, up to and including the second. */
  enforcedTrades(coin: string, afterMs: number, throughMs: number): readonly EnforcedTrade[] {
    const instrument = this.#market.instrument(coin)
    if (instrument === undefined) return []
    return this.#positionsOf(instrument).enforcedTrades(afterMs, throughMs)
  }

  /** Coins that an account may hold; all of them for the liquidator vault. */
  coinsOf(account: number): readonly string[] {
    if (account === LIQUIDATOR) return this.#market.universe().map(({ coin }) => coin)
    return this.#coinsHeldBy(account)
  }

  /** Brings the next coin up to date, so that no question has to make up for days. */
  advance(atMs: number): void {
    const universe = this.#market.universe()
    const instrument = universe[this.#next++ % universe.length]
    if (instrument !== undefined) this.#positionsOf(instrument).advance(atMs)
  }

  #heldBy(
    account: number,
    atMs: number,
  ): (Omit<AccountPosition, 'liquidationPrice'> & { readonly maintenanceUsd: number })[] {
    return this.coinsOf(account).flatMap((coin) => {
      const instrument = this.#market.instrument(coin)
      if (instrument === undefined) return []
      const positions = this.#positionsOf(instrument)
      const held = positions.at(atMs).find((one) => one.account === account)
      const context = this.#market.context(coin, atMs)
      if (held === undefined || context === undefined) return []
      const { markPrice } = context
      const notionalUsd = Math.abs(held.sizeBase) * markPrice
      const own = maintenanceUsd(positions.tiers, notionalUsd)
      return [{ ...held, instrument, markPrice, maintenanceUsd: own }]
    })
  }

  #coinsHeldBy(account: number): readonly string[] {
    const universe = this.#market.universe()
    if (universe.length === this.#indexed.size) return this.#coinsOf.get(account) ?? []
    for (const instrument of universe) {
      if (this.#indexed.has(instrument.coin)) continue
      this.#indexed.add(instrument.coin)
      for (const slot of slotsOf(instrument)) {
        const coins = this.#coinsOf.get(slot.account) ?? []
        this.#coinsOf.set(slot.account, coins)
        coins.push(instrument.coin)
      }
    }
    return this.#coinsOf.get(account) ?? []
  }

  #positionsOf(instrument: Instrument): CoinPositions {
    const { coin } = instrument
    const known = this.#coins.get(coin)
    if (known !== undefined) return known
    const positions = new CoinPositions(this.#market, instrument, this.#startMs, this.#newFates)
    this.#coins.set(coin, positions)
    return positions
  }
}
