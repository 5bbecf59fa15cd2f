import type { MarketEvent } from '../../../domain/event.ts'
import type { MarketState, MarketTracker } from '../../market/market-state.ts'
import { marketTracker } from '../../market/market-state.ts'
import type { HourlyCloses } from '../../volatility/hourly-closes.ts'
import { hourlyCloses } from '../../volatility/hourly-closes.ts'
import {
  COMMON_RETURNS_MIN,
  CORRELATED_COINS_MAX,
  RETURN_MS,
  RETURNS_READ,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { ReturnTable } from './return-table.ts'
import { LiveReturnTable } from './return-table.ts'
import { RollingCorrelation } from './rolling-correlation.ts'

/** The returns that are read, and room for the hours that leave the window. */
const RING_HOURS = RETURNS_READ + 24

/** An hour enters the window when all coins have closed it, at the latest this long after its end. */
const LATE_CLOSE_MS_MAX = 60_000

/** After a longer gap all sums are recomputed instead of rolled hour by hour. */
const CAUGHT_UP_HOURS_MAX = 24

/** Work of one turn, which bounds it to about a millisecond. */
const ROWS_READ_PER_TURN = 4
const ROWS_SUMMED_PER_TURN = 2

/** Each row is recomputed once in this many hours. */
const SUMMED_WITHIN_HOURS = 24

const NOTHING_SAVED = new Float64Array()

/** A coin with a row in the table. */
type Member = {
  readonly coin: string
  readonly closes: HourlyCloses
  /** First hour to read again; Infinity for none. */
  unreadFromHour: number
}

/** Immutable copy of the returns and rolling correlations at one moment. */
export type CorrelationState = {
  /** By row. */
  readonly coins: readonly string[]
  readonly returns: ReturnTable
  /** Hour of the newest returns; NaN before any. */
  readonly endHour: number
  /** Rolling correlations [a, b] for a <= b, `rolledWidth` columns; NaN if not summed. */
  readonly rolled: Float64Array
  readonly rolledWidth: number
  /** Correlations since the start that a recomputation changed by more than 1e-9. */
  readonly disagreements: number
}

/**
 * Keeps the hourly returns of all coins and their rolling correlations up to date, including late corrections of past
 * hours. Rebuilt from the closes after a restart, so nothing is saved.
 */
class CorrelationTracker implements MarketTracker {
  readonly inputs = ['universe'] as const
  readonly #table = new LiveReturnTable(CORRELATED_COINS_MAX, RING_HOURS)
  readonly #rolling = new RollingCorrelation(this.#table, WINDOW_HOURS, COMMON_RETURNS_MIN)
  readonly #members: Member[] = []
  #isListingNew = true
  /** Rows still to be recomputed in turn, and the last one that was. */
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
      if (this.#members.length === CORRELATED_COINS_MAX) break
      if (known.has(name)) continue
      this.#rolling.invalidate(this.#table.addRow())
      this.#members.push({
        coin: name,
        closes: coin.of(hourlyCloses),
        unreadFromHour: Number.NEGATIVE_INFINITY,
      })
    }
  }

  /** The last member takes the row. */
  #remove(row: number): void {
    const last = this.#members.pop() as Member
    if (row < this.#members.length) this.#members[row] = last
    this.#table.removeRow(row)
    this.#rolling.invalidate(row)
  }

  /** Advances the window to the newest complete hour; driven by bars, not by the clock. */
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
    if (!this.#isComplete(hour) && venueMs < (hour + 1) * RETURN_MS + LATE_CLOSE_MS_MAX) return
    for (const [row, { closes }] of this.#members.entries())
      this.#table.set(row, hour, closes.logReturn(hour))
    this.#rolling.roll()
    this.#sumsDue = Math.ceil(this.#members.length / SUMMED_WITHIN_HOURS)
  }

  /** Coins without the previous hour are not waited for. */
  #isComplete(hour: number): boolean {
    return this.#members.every(
      ({ closes }) => !(closes.newestHour >= hour - 1) || !Number.isNaN(closes.close(hour)),
    )
  }

  #read(): void {
    const { endHour } = this.#rolling
    let rowsLeft = ROWS_READ_PER_TURN
    for (const [row, member] of this.#members.entries()) {
      // Later hours are read when they enter the window.
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

  /** First rows with invalid sums, then some others in turn, to remove accumulated rounding. */
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
