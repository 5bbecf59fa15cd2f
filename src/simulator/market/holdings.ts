import type { HolderSlot } from './holders.ts'
import { LIQUIDATOR, slotsOf } from './holders.ts'
import type { MaintenanceTier } from './margin.ts'
import { maintenanceTiers, modelLiquidationPrice, tierAt } from './margin.ts'
import type { Instrument } from './market.ts'
import { sizeOf } from './precision.ts'

/** What a slot holds. All of it changes by whole lots, so that both sides stay equal. */
export type Holding = {
  readonly slot: HolderSlot
  /** Without a sign. */
  lots: number
  entryPrice: number
  /** Of an isolated position: its margin less what was paid for it. */
  rawUsd: number
  /** When a part of this position was liquidated; NaN if none was. */
  partialAtMs: number
}

/** Who holds a coin: its slots, and the liquidator vault what it took over. */
export class Holdings {
  readonly tiers: readonly MaintenanceTier[]
  readonly all: readonly Holding[]
  readonly #vault: Readonly<Record<1 | -1, Holding>>
  readonly #sizeDecimals: number
  /** Nearest prices that liquidate a long, and a short. */
  longFrom = Number.NEGATIVE_INFINITY
  shortFrom = Number.POSITIVE_INFINITY

  constructor(instrument: Instrument) {
    this.tiers = maintenanceTiers(instrument.marginTableId)
    this.#sizeDecimals = instrument.sizeDecimals
    this.all = slotsOf(instrument).map(empty)
    this.#vault = { 1: empty(vaultSlot(1)), [-1]: empty(vaultSlot(-1)) }
  }

  /** The liquidator vault's of a side; that of the other side is empty while this one is not. */
  vault(side: 1 | -1): Holding {
    return this.#vault[side]
  }

  get isVaultEmpty(): boolean {
    return this.#vault[1].lots === 0 && this.#vault[-1].lots === 0
  }

  /** Negative for a short. */
  sizeBase({ slot, lots }: Holding): number {
    return slot.side * sizeOf(lots, this.#sizeDecimals)
  }

  /** A holding of a side by a draw, another one than that at an index where there is one. */
  other(draw: number, not: number, side: 1 | -1): Holding {
    const count = this.all.length
    for (let i = 0; i <= count; i++) {
      const index = (draw + i) % count
      const holding = this.all[index]
      const isOther = index !== not || i === count
      if (holding?.slot.side === side && isOther) return holding
    }
    throw new Error('each side has a holder')
  }

  /** Margin comes with what is added, as much as the leverage asks for. */
  give(holding: Holding, lots: number, price: number): void {
    if (lots === 0) return
    const { slot } = holding
    const added = sizeOf(lots, this.#sizeDecimals)
    const total = sizeOf(holding.lots + lots, this.#sizeDecimals)
    const leverage = Math.min(slot.leverage, tierAt(this.tiers, total * price).maxLeverage)
    holding.entryPrice += (added / total) * (price - holding.entryPrice)
    holding.rawUsd += (added * price) / leverage - slot.side * added * price
    holding.lots += lots
  }

  /** Margin leaves in proportion, so the liquidation price of what is left stays. */
  take(holding: Holding, lots: number): void {
    if (lots === 0) return
    this.#reduce(holding, lots, (holding.rawUsd * (holding.lots - lots)) / holding.lots)
  }

  /** The margin stays, with the proceeds: the equity does not change. */
  close(holding: Holding, lots: number, price: number): void {
    const proceedsUsd = holding.slot.side * sizeOf(lots, this.#sizeDecimals) * price
    this.#reduce(holding, lots, holding.rawUsd + proceedsUsd)
  }

  /** Takes lots from the holders of a side, one after the other, and from the vault last. */
  withdraw(draw: number, side: 1 | -1, lots: number): void {
    let left = lots
    const { length } = this.all
    for (let i = 0; left > 0 && i <= length; i++) {
      const holding = i < length ? this.all[(draw + i) % length] : this.vault(side)
      if (holding?.slot.side !== side) continue
      const taken = Math.min(left, holding.lots)
      this.take(holding, taken)
      left -= taken
    }
  }

  /** Finds the nearest liquidation prices, after changes. */
  note(): void {
    this.longFrom = Number.NEGATIVE_INFINITY
    this.shortFrom = Number.POSITIVE_INFINITY
    for (const holding of this.all) {
      const price = this.#liquidationPrice(holding)
      if (price === null) continue
      if (holding.slot.side === 1) this.longFrom = Math.max(this.longFrom, price)
      else this.shortFrom = Math.min(this.shortFrom, price)
    }
  }

  #reduce(holding: Holding, lots: number, rawUsd: number): void {
    holding.lots -= lots
    holding.rawUsd = holding.lots === 0 ? 0 : rawUsd
    if (holding.lots > 0) return
    holding.entryPrice = 0
    holding.partialAtMs = Number.NaN
  }

  /** Of an isolated position; accounts that share margin pay in before it comes to that. */
  #liquidationPrice(holding: Holding): number | null {
    if (holding.lots === 0 || !holding.slot.isIsolated) return null
    return modelLiquidationPrice(this.tiers, this.sizeBase(holding), holding.rawUsd)
  }
}

function vaultSlot(side: 1 | -1): HolderSlot {
  return { account: LIQUIDATOR, side, weight: 0, leverage: 1, isIsolated: false }
}

function empty(slot: HolderSlot): Holding {
  return { slot, lots: 0, entryPrice: 0, rawUsd: 0, partialAtMs: Number.NaN }
}
