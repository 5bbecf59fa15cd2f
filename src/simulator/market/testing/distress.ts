import type { Fates, NewFates } from '../coin-positions.ts'
import { MINUTE_MS } from '../lot-bar.ts'
import type { MaintenanceTier } from '../margin.ts'
import { maintenanceUsd, modelLiquidationPrice } from '../margin.ts'
import { bits, uniform } from '../noise.ts'

type Distress = {
  /** One in this many isolated positions is affected in a minute … */
  readonly oneIn: number
  /** … before this instant. */
  readonly untilMs: number
}

/** The mark reaches a liquidation price that is set now after this time, so that clients can know it before … */
const AHEAD_MINUTES_MIN = 12
/** … and before this one. */
const AHEAD_MINUTES_MAX = 35
/** Number of 100 affected positions that lose margin slowly … */
const NEAR = 60
/** … these at once, down to this share of the maintenance margin, … */
const SUDDEN = 80
const SUDDEN_SHARE = 0.4
/** … and these more than they have; the others are closed by their holders where they are in danger. */
const BANKRUPT = 86
const BANKRUPT_SHARE = -0.2
const DANGER = 0.02
/** Of those that lose margin slowly one in this many is closed by its holder, each time it is looked at. */
const CLOSED_ONE_IN = 40
const TICKS_A_MINUTE = 20

/** Makes liquidations frequent. */
export function distress(options: Distress): NewFates {
  return (tiers, markAt) => new CoinDistress(options, tiers, markAt)
}

/** The positions of one coin that lose their margin, by draws. */
class CoinDistress implements Fates {
  readonly #options: Distress
  readonly #markAt: (timeMs: number) => number
  readonly #tiers: readonly MaintenanceTier[]
  /** Minute until which the mark reaches the price of a position, by the position's place. */
  readonly #planned = new Map<number, number>()
  /** Lowest and highest mark by minute. */
  readonly #ranges = new Map<number, { readonly low: number; readonly high: number }>()

  constructor(
    options: Distress,
    tiers: readonly MaintenanceTier[],
    markAt: (timeMs: number) => number,
  ) {
    this.#options = options
    this.#tiers = tiers
    this.#markAt = markAt
  }

  fateOf(
    place: number,
    { sizeBase, rawUsd }: { readonly sizeBase: number; readonly rawUsd: number },
    draw: number,
    minute: number,
  ): number | 'close' | null {
    const { oneIn, untilMs } = this.#options
    const atMs = minute * MINUTE_MS
    if (atMs >= untilMs || bits(draw, 1) % oneIn !== 0) return null
    const isPlanned = minute < (this.#planned.get(place) ?? 0)
    const markPrice = this.#markAt(atMs)
    const kind = bits(draw, 2) % 100
    if (isPlanned) {
      const isClosed = bits(draw, 4) % CLOSED_ONE_IN === 0
      return isClosed ? this.#closing(sizeBase, rawUsd, markPrice) : null
    }
    if (kind < NEAR) {
      const planned = this.#rawReachedAhead(sizeBase, uniform(draw, 3), minute)
      if (planned !== null) this.#planned.set(place, minute + AHEAD_MINUTES_MAX)
      return planned
    }
    const maintenance = maintenanceUsd(this.#tiers, Math.abs(sizeBase) * markPrice)
    if (kind < SUDDEN) return SUDDEN_SHARE * maintenance - sizeBase * markPrice
    if (kind < BANKRUPT) return BANKRUPT_SHARE * maintenance - sizeBase * markPrice
    return this.#closing(sizeBase, rawUsd, markPrice)
  }

  /** Holders close what is in danger. */
  #closing(sizeBase: number, rawUsd: number, markPrice: number): 'close' | null {
    const price = modelLiquidationPrice(this.#tiers, sizeBase, rawUsd)
    return price !== null && Math.abs(price / markPrice - 1) < DANGER ? 'close' : null
  }

  /** A price that the mark reaches first between both ends of the time ahead; null where there is none. */
  #rawReachedAhead(sizeBase: number, share: number, minute: number): number | null {
    const soon = this.#rangeOf(minute, minute + AHEAD_MINUTES_MIN)
    const later = this.#rangeOf(minute + AHEAD_MINUTES_MIN, minute + AHEAD_MINUTES_MAX)
    const [from, until] = sizeBase > 0 ? [soon.low, later.low] : [soon.high, later.high]
    if (sizeBase > 0 ? until >= from : until <= from) return null
    const price = from + (0.05 + 0.9 * share) * (until - from)
    return maintenanceUsd(this.#tiers, Math.abs(sizeBase) * price) - sizeBase * price
  }

  #rangeOf(from: number, until: number): { readonly low: number; readonly high: number } {
    let [low, high] = [Number.POSITIVE_INFINITY, 0]
    for (let minute = from; minute < until; minute++) {
      const range = this.#rangeOfMinute(minute)
      low = Math.min(low, range.low)
      high = Math.max(high, range.high)
    }
    return { low, high }
  }

  #rangeOfMinute(minute: number): { readonly low: number; readonly high: number } {
    const known = this.#ranges.get(minute)
    if (known !== undefined) return known
    const marks = Array.from({ length: TICKS_A_MINUTE }, (_, tick) =>
      this.#markAt(minute * MINUTE_MS + (tick * MINUTE_MS) / TICKS_A_MINUTE),
    )
    const range = { low: Math.min(...marks), high: Math.max(...marks) }
    this.#ranges.set(minute, range)
    this.#ranges.delete(minute - 2 * AHEAD_MINUTES_MAX)
    return range
  }
}
