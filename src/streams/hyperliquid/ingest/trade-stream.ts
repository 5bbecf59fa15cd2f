import type { Batch, TradeEvent, TradeGapEvent } from '../../../domain/event.ts'
import type { Plausibility } from '../plausibility/plausibility.ts'
import type { ReceiveTimes } from '../timing/receive-times.ts'
import type { CoinMonitor } from './coin-monitor.ts'
import type { OnFeedEvent } from './feed-event.ts'
import type { KnownTrades } from './recent-trades.ts'
import { TradeMemory } from './recent-trades.ts'

/** Older trades belong to the replay that follows a subscription. */
const PRESENT_AGE_MS_MAX = 3_000

/**
 * Removes repeated and implausible trades, and turns known losses into `trade-gap` events. After a subscription the venue
 * replays the last 30 trades; a known trade among them shows that none is lost.
 */
export class TradeStream {
  readonly #memory: TradeMemory
  readonly #plausibility: Plausibility
  readonly #monitor: CoinMonitor
  readonly #times: ReceiveTimes
  readonly #onFeedEvent: OnFeedEvent
  /** Coins whose next frame of trades is a replay. */
  readonly #replayed = new Set<string>()

  constructor(
    parts: {
      readonly plausibility: Plausibility
      readonly monitor: CoinMonitor
      readonly times: ReceiveTimes
      readonly onFeedEvent: OnFeedEvent
    },
    known?: KnownTrades,
  ) {
    this.#memory = new TradeMemory(known)
    this.#plausibility = parts.plausibility
    this.#monitor = parts.monitor
    this.#times = parts.times
    this.#onFeedEvent = parts.onFeedEvent
  }

  /** The next trades of the coin are a replay. */
  subscribed(coin: string): void {
    this.#memory.subscribed(coin)
    this.#replayed.add(coin)
  }

  /** The coin was delisted. */
  forget(coin: string): void {
    this.#memory.forget(coin)
    this.#replayed.delete(coin)
  }

  /** The connection of the coin was lost. The next one begins with a replay, whether or not its acknowledgement arrives. */
  interrupted(coin: string): void {
    this.#memory.interrupted(coin)
    this.#replayed.add(coin)
  }

  /** Whether these are the first trades after a subscription. Clears the expectation. */
  takeReplay(events: Batch): boolean {
    const [first] = events
    return this.#replayed.size > 0 && first?.kind === 'trade' && this.#replayed.delete(first.coin)
  }

  /** If the replay itself was lost, the first frame of trades is of the present. */
  isPresent(trades: Batch, nowMs: number): boolean {
    const venueMs = this.#times.venueMs(nowMs)
    return trades.every(
      ({ timeExchangeMs }) => Math.abs(venueMs - timeExchangeMs) <= PRESENT_AGE_MS_MAX,
    )
  }

  /** @param isReplay of the first frame after a subscription */
  accept(trades: readonly TradeEvent[], isReplay: boolean, nowMs: number): Batch {
    const coins = new Set(trades.map(({ coin }) => coin))
    return Array.from(coins).flatMap((coin) =>
      this.#acceptOf(
        coin,
        coins.size === 1 ? trades : trades.filter((trade) => trade.coin === coin),
        isReplay,
        nowMs,
      ),
    )
  }

  /**
   * The gap of a trade that is unreadable or implausible.
   * @param others trades of the same frame: the lost one is not later than they are
   */
  gapBeside(coin: string, others: Batch, nowMs: number): TradeGapEvent {
    const times = others.flatMap((event) =>
      event.kind === 'trade' && event.coin === coin ? [event.timeExchangeMs] : [],
    )
    const atMs = times.length === 0 ? this.#times.venueMs(nowMs) : Math.min(...times) - 1
    const stamp = { timeExchangeMs: atMs, timeReceivedMs: nowMs }
    return { kind: 'trade-gap', coin, fromMs: atMs, toMs: atMs, ...stamp }
  }

  #acceptOf(coin: string, trades: readonly TradeEvent[], isReplay: boolean, nowMs: number): Batch {
    const { fresh, repeated, gap } = this.#memory.accept(coin, trades, isReplay)
    if (gap === null && isReplay && repeated > 0) {
      this.#onFeedEvent({ kind: 'trades-bridged', coin, repeated, fresh: fresh.length })
      if (fresh.length > 0) this.#monitor.madeGood(coin, 'trades', nowMs)
    }
    const accepted = fresh.filter((trade) => this.#plausibility.trade(trade, nowMs))
    if (accepted.length === fresh.length) return gap === null ? accepted : [gap, ...accepted]
    return [gap ?? this.gapBeside(coin, accepted, nowMs), ...accepted]
  }
}
