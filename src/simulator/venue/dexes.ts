import { Accounts } from '../market/accounts.ts'
import type { BuilderDex } from '../market/builder-dexes.ts'
import type { NewFates } from '../market/coin-positions.ts'
import { EnforcingMarket } from '../market/enforcing-market.ts'
import type { Instrument, Market } from '../market/market.ts'

/** One perpetual exchange of the venue. */
export type SimulatedDex = {
  /** Empty for the main dex. */
  readonly name: string
  readonly market: Market
  /** Absent for the main dex. */
  readonly builder?: BuilderDex
}

/** The venue's main dex and those of builders, found by name or by the full name of a coin. */
export class Dexes {
  readonly main: SimulatedDex
  readonly builders: readonly BuilderDex[]
  /** In the venue's order, the main dex first. */
  readonly all: readonly SimulatedDex[]
  /** Positions on the main dex. The other dexes have none. */
  readonly accounts: Accounts
  readonly #byName: ReadonlyMap<string, SimulatedDex>

  /**
   * @param startMs from when on positions change
   * @param newFates without it liquidations follow from the market alone
   */
  constructor(main: Market, builders: readonly BuilderDex[], startMs: number, newFates?: NewFates) {
    this.accounts = new Accounts(main, startMs, newFates)
    this.main = { name: '', market: new EnforcingMarket(main, this.accounts) }
    this.builders = builders
    this.all = [
      this.main,
      ...builders.map((builder) => ({ name: builder.name, market: builder.market, builder })),
    ]
    this.#byName = new Map(this.all.map((dex) => [dex.name, dex]))
  }

  named(name: string): SimulatedDex | undefined {
    return this.#byName.get(name)
  }

  /** By the name before the colon, the main one where there is none; undefined for one that does not exist. */
  dexOf(coin: string): SimulatedDex | undefined {
    const end = coin.indexOf(':')
    return end === -1 ? this.main : this.#byName.get(coin.slice(0, end))
  }

  /** Where a coin is traded. A name with an unknown dex is listed nowhere, so any market will do. */
  marketOf(coin: string): Market {
    return (this.dexOf(coin) ?? this.main).market
  }

  instrument(coin: string): Instrument | undefined {
    return this.marketOf(coin).instrument(coin)
  }
}
