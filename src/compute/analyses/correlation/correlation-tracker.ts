import type { MarketEvent } from '../../../domain/event.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import {
  COINS_MAX,
  COMMON_RETURNS_MIN,
  HOUR_MS,
  RETURNS_READ,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { ReturnTable } from './return-table.ts'
import { LiveReturnTable } from './return-table.ts'
import { RollingCorrelation } from './rolling-correlation.ts'

/** What is read, and room for the hour that leaves. */
const RING_HOURS = RETURNS_READ + 24

/** An hour enters when all coins closed it, at the latest so long after its end. */
const PATIENCE_MS = 60_000

/** After a longer absence everything is summed anew instead of hour by hour. */
const CAUGHT_UP_HOURS_MAX = 24

/** Work of one turn, so that none takes longer than about a millisecond. */
const ROWS_READ_PER_TURN = 4
const ROWS_SUMMED_PER_TURN = 2

/** Each row is summed anew once in so many hours. */
const SUMMED_WITHIN_HOURS = 24

const NOTHING_SAVED = new Float64Array()

/** A coin with a row in the table. */
type Member = {
  readonly coin: string
  readonly closes: HourlyCloses
  /** The first hour that has to be read again; Infinity for none. */
  unreadFromHour: number
}

/** What all coins have in common at one moment. It stays as it is when the market goes on. */
export type CorrelationState = {
  /** By row. */
  readonly coins: readonly string[]
  readonly returns: ReturnTable
  /** The hour with the newest returns; NaN before any. */
  readonly endHour: number
  /** From the rolling sums: [a, b] for a <= b, `rolledWidth` columns; NaN where nothing is summed. */
  readonly rolled: Float64Array
  readonly rolledWidth: number
  /** Correlations, since the start, that a sum from scratch moved by more than 1e-9. */
  readonly disagreements: number
}

/**
 * Keeps hourly returns of all coins, and the rolling correlations over them, up to date: an hour when it has
 * closed, and whatever is told later about the hours before. Everything comes back with the closes, so
 * nothing is saved.
 */
class CorrelationTracker implements MarketTracker {
  readonly hears = ['universe'] as const
  readonly #table = new LiveReturnTable(COINS_MAX, RING_HOURS)
  readonly #rolling = new RollingCorrelation(this.#table, WINDOW_HOURS, COMMON_RETURNS_MIN)
  readonly #members: Member[] = []
  #isListingNew = true
  /** Rows that are to be summed anew though their sums hold, and the one from which that goes on. */
  #sumsDue = 0
  #nextSummed = 0
  #disagreements = 0

  apply(event: MarketEvent): void {
    if (event.kind === 'universe') this.#isListingNew = true
  }

  advance(market: MarketState): void {
    if (Number.isNaN(market.venueMs)) return
    if (this.#isListingNew) this.#list(market)
    for (const member of this.#members)
      member.unreadFromHour = Math.min(member.unreadFromHour, member.closes.takeChangedFromHour())
    this.#move(market.venueMs)
    this.#read()
    this.#sum()
  }

  state(): CorrelationState {
    return {
      coins: this.#members.map(({ coin }) => coin),
      returns: this.#table.share(),
      endHour: this.#rolling.endHour,
      rolled: this.#rolling.correlations().slice(0, this.#members.length * this.#rolling.width),
      rolledWidth: this.#rolling.width,
      disagreements: this.#disagreements,
    }
  }

  save(): Float64Array {
    return NOTHING_SAVED
  }

  restore(): boolean {
    return true
  }

  #list(market: MarketState): void {
    this.#isListingNew = false
    for (let row = this.#members.length - 1; row >= 0; row -= 1) {
      const { coin, closes } = this.#members[row] as Member
      if (market.coin(coin)?.of(hourlyCloses) !== closes) this.#remove(row)
    }
    const known = new Set(this.#members.map(({ coin }) => coin))
    for (const coin of market.coins()) {
      const name = coin.listing.coin
      if (this.#members.length === COINS_MAX) break
      if (known.has(name)) continue
      this.#rolling.invalidate(this.#table.addRow())
      this.#members.push({
        coin: name,
        closes: coin.of(hourlyCloses),
        unreadFromHour: Number.NEGATIVE_INFINITY,
      })
    }
  }

  /** The last one takes its place. */
  #remove(row: number): void {
    const last = this.#members.pop() as Member
    if (row < this.#members.length) this.#members[row] = last
    this.#table.removeRow(row)
    this.#rolling.invalidate(row)
  }

  /** The window ends with the newest hour that is complete. It follows the bars, not the clock. */
  #move(venueMs: number): void {
    let newestHour = Number.NEGATIVE_INFINITY
    for (const { closes } of this.#members)
      if (closes.newestHour > newestHour) newestHour = closes.newestHour
    const { endHour } = this.#rolling
    if (newestHour === Number.NEGATIVE_INFINITY || newestHour <= endHour) return
    if (!(newestHour - endHour <= CAUGHT_UP_HOURS_MAX)) {
      this.#rolling.restart(newestHour)
      this.#table.clear()
      for (const member of this.#members) member.unreadFromHour = Number.NEGATIVE_INFINITY
      return
    }
    const hour = endHour + 1
    if (!this.#isComplete(hour) && venueMs < (hour + 1) * HOUR_MS + PATIENCE_MS) return
    for (const [row, { closes }] of this.#members.entries())
      this.#table.set(row, hour, closes.logReturn(hour))
    this.#rolling.roll()
    this.#sumsDue = Math.ceil(this.#members.length / SUMMED_WITHIN_HOURS)
  }

  /** A coin without the hour before does not hold up the others. */
  #isComplete(hour: number): boolean {
    return this.#members.every(
      ({ closes }) => !(closes.newestHour >= hour - 1) || !Number.isNaN(closes.close(hour)),
    )
  }

  #read(): void {
    const { endHour } = this.#rolling
    let rowsLeft = ROWS_READ_PER_TURN
    for (const [row, member] of this.#members.entries()) {
      // What changed behind the end is read when it enters.
      if (!(member.unreadFromHour <= endHour)) continue
      if (rowsLeft === 0) return
      rowsLeft -= 1
      if (this.#readRow(row, member)) this.#rolling.invalidate(row)
    }
  }

  /** @returns whether a return within the window changed. */
  #readRow(row: number, member: Member): boolean {
    const { endHour } = this.#rolling
    const firstHour = Math.max(endHour - RETURNS_READ + 1, member.unreadFromHour)
    member.unreadFromHour = Number.POSITIVE_INFINITY
    let hasChanged = false
    for (let hour = firstHour; hour <= endHour; hour += 1) {
      const isChanged = this.#table.set(row, hour, member.closes.logReturn(hour))
      hasChanged ||= isChanged && hour > endHour - WINDOW_HOURS
    }
    return hasChanged
  }

  /** First rows whose sums do not hold; then some of the others, to wash out their rounding. */
  #sum(): void {
    if (Number.isNaN(this.#rolling.endHour)) return
    let rowsLeft = ROWS_SUMMED_PER_TURN
    for (let row = 0; row < this.#members.length && rowsLeft > 0; row += 1) {
      if (this.#rolling.isSummed(row)) continue
      this.#rolling.sum(row)
      rowsLeft -= 1
    }
    for (; rowsLeft > 0 && this.#sumsDue > 0; rowsLeft -= 1) {
      this.#sumsDue -= 1
      this.#nextSummed = (this.#nextSummed + 1) % this.#members.length
      this.#disagreements += this.#rolling.sum(this.#nextSummed)
    }
  }
}

export const correlationTracker = marketTracker(
  'correlation/returns',
  () => new CorrelationTracker(),
)
