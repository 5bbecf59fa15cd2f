import type { Batch, SilentChannel } from '../../../domain/event.ts'

/** Books arrive every 5.4 s, changed or not: three are missing. */
const BOOK_SILENCE_MS_MAX = 20_000
const BOOK_LAG_MS_MAX = 10_000
/** A trade and the candle that it changed arrive within one block, in either order. */
const CANDLE_LEAD_MS_MAX = 2_000
const CANDLE_LAG_MS_MAX = 10_000
/** The day's volume may arrive a little before its trades. */
const UNEXPLAINED_RISES_MAX = 3
const UNEXPLAINED_MS_MAX = 30_000
/** Time for a renewed subscription, doubled with each renewal. */
const PATIENCE_MS_MIN = 30_000
const PATIENCE_MS_MAX = 600_000

/** A channel of one coin that is stale, or was. */
export type StaleCoin = {
  readonly coin: string
  readonly channel: SilentChannel
  /** How often it was found stale in a row, from 1. */
  readonly times: number
}

type Watched = {
  readonly socket: number
  readonly begunMs: number
  /** NaN before any. */
  bookMs: number
  candleMs: number
  /** The first trade that no candle followed; NaN without one. */
  uncoveredTradeMs: number
  /** NaN before any. */
  dayNotional: number
  /** Rises of the day's volume since the last trade. */
  unexplainedRises: number
  /** The time of the first of them. */
  unexplainedMs: number
  stale: SilentChannel | null
  /** Stale on an earlier connection and not received since. */
  staleBefore: SilentChannel | null
  times: number
  /**
   * When a new subscription supplied the missing data, or when volume rose afterwards; NaN before. It does not prove that
   * live data follow.
   */
  madeGoodMs: number
  /** When the coin is reported again. */
  dueMs: number
}

/**
 * Finds a coin whose channel is stale on a live connection. A quiet coin sends neither trades nor candles, so the rules
 * use fixed relations: books have a cadence, a trade changes a candle, and volume rises only with trades. Best quotes and
 * contexts of single coins are not watched: books and contexts of all coins carry the same a few seconds later.
 */
export class CoinMonitor {
  readonly #coins = new Map<string, Watched>()
  /** Stale coins of connections that ended; otherwise each new connection would be replaced for the same coin. */
  readonly #staleBefore = new Map<string, StaleCoin>()

  /** The venue acknowledged the coin's subscriptions on this socket. */
  begin(coin: string, socket: number, nowMs: number): void {
    if (this.#coins.get(coin)?.socket === socket) return
    const before = this.#staleBefore.get(coin)
    this.#staleBefore.delete(coin)
    this.#coins.set(coin, {
      socket,
      begunMs: nowMs,
      bookMs: Number.NaN,
      candleMs: nowMs,
      uncoveredTradeMs: Number.NaN,
      dayNotional: Number.NaN,
      unexplainedRises: 0,
      unexplainedMs: nowMs,
      stale: null,
      staleBefore: before?.channel ?? null,
      times: before?.times ?? 0,
      madeGoodMs: Number.NaN,
      dueMs: 0,
    })
  }

  /**
   * A new subscription supplied the missing data: the replay has the trades that the volume implied, or candles were
   * acknowledged and their history follows. Without this, a coin that is no longer traded would stay stale.
   */
  madeGood(coin: string, channel: 'candle' | 'trades', nowMs: number): void {
    const watched = this.#coins.get(coin)
    if (watched?.stale !== channel) return
    if (channel === 'candle') watched.uncoveredTradeMs = Number.NaN
    else watched.unexplainedRises = 0
    watched.madeGoodMs = nowMs
  }

  /** The connection of the coin ended. */
  lost(coin: string): void {
    const watched = this.#coins.get(coin)
    this.#coins.delete(coin)
    const channel = watched?.stale ?? watched?.staleBefore ?? null
    if (watched !== undefined && channel !== null)
      this.#staleBefore.set(coin, { coin, channel, times: watched.times })
  }

  /** The coin is no longer listed. */
  end(coin: string): void {
    this.#coins.delete(coin)
    this.#staleBefore.delete(coin)
  }

  /**
   * @param batch the events of one live frame, not of a replay
   * @param delayMs by how much the frame was delayed
   * @returns coins that were stale and are received again
   */
  received(batch: Batch, nowMs: number, delayMs = 0): readonly StaleCoin[] {
    const [first] = batch
    if (first === undefined) return []
    switch (first.kind) {
      case 'book':
      case 'candle':
      case 'trade': {
        const watched = this.#coins.get(first.coin)
        if (watched === undefined) return []
        if (first.kind === 'book') watched.bookMs = nowMs - delayMs
        return this.#received(first.coin, watched, first.kind, nowMs)
      }
      case 'context':
        this.#noteVolumes(batch, nowMs)
        return []
      default:
        return []
    }
  }

  /** Once per second. @returns coins that are found stale now */
  tick(nowMs: number): readonly StaleCoin[] {
    const medians = new Map<number, number>()
    const found: StaleCoin[] = []
    for (const [coin, watched] of this.#coins) {
      const { socket } = watched
      let medianMs = medians.get(socket)
      if (medianMs === undefined) {
        medianMs = this.#medianBookMs(socket)
        medians.set(socket, medianMs)
      }
      const channel = staleChannel(watched, medianMs, nowMs)
      if (channel === null || (watched.stale !== null && nowMs < watched.dueMs)) continue
      watched.stale = channel
      watched.staleBefore = null
      watched.madeGoodMs = Number.NaN
      watched.times += 1
      watched.dueMs =
        nowMs + Math.min(PATIENCE_MS_MAX, PATIENCE_MS_MIN * 2 ** Math.min(watched.times - 1, 10))
      found.push({ coin, channel, times: watched.times })
    }
    return found
  }

  #noteVolumes(contexts: Batch, nowMs: number): void {
    for (const event of contexts) {
      if (event.kind !== 'context') continue
      const watched = this.#coins.get(event.coin)
      if (watched === undefined) continue
      if (event.dayNotional > watched.dayNotional) {
        if (watched.unexplainedRises === 0) watched.unexplainedMs = nowMs
        watched.unexplainedRises += 1
        // The coin is traded, so live data must arrive.
        if (!Number.isNaN(watched.madeGoodMs)) watched.madeGoodMs = nowMs
      }
      watched.dayNotional = event.dayNotional
    }
  }

  /**
   * The median of the last book times on a socket; NaN without any. Coins with stale books are excluded: otherwise half of
   * the coins would hide the next one.
   */
  #medianBookMs(socket: number): number {
    const times = [...this.#coins.values()]
      .filter((watched) => watched.socket === socket && watched.stale !== 'book')
      .filter(({ bookMs }) => !Number.isNaN(bookMs))
      .map(({ bookMs }) => bookMs)
      .toSorted((one, other) => one - other)
    return times[Math.floor(times.length / 2)] ?? Number.NaN
  }

  #received(
    coin: string,
    watched: Watched,
    kind: 'book' | 'candle' | 'trade',
    nowMs: number,
  ): readonly StaleCoin[] {
    if (kind === 'candle') {
      watched.candleMs = nowMs
      watched.uncoveredTradeMs = Number.NaN
    } else if (kind === 'trade') {
      watched.unexplainedRises = 0
      const isCovered = nowMs - watched.candleMs <= CANDLE_LEAD_MS_MAX
      if (!isCovered && Number.isNaN(watched.uncoveredTradeMs)) watched.uncoveredTradeMs = nowMs
    }
    const channel = watched.stale
    const isProof = channelOf[kind] === (channel ?? watched.staleBefore)
    if (isProof) watched.madeGoodMs = Number.NaN
    if (isProof && channel === null) {
      watched.staleBefore = null
      watched.times = 0
    }
    if (channel === null || staleChannel(watched, nowMs, nowMs) !== null) return []
    const isMadeGood = !Number.isNaN(watched.madeGoodMs)
    if (isMadeGood && !isQuiet(watched, nowMs)) return []
    const { times } = watched
    watched.stale = null
    // Nothing is missing, but no live data arrived: if found stale again, the renewal was in vain.
    if (isMadeGood) watched.staleBefore = channel
    else watched.times = 0
    watched.madeGoodMs = Number.NaN
    return [{ coin, channel, times }]
  }
}

/** Neither trades nor volume since. */
function isQuiet({ madeGoodMs, uncoveredTradeMs }: Watched, nowMs: number): boolean {
  return Number.isNaN(uncoveredTradeMs) && nowMs - madeGoodMs > UNEXPLAINED_MS_MAX
}

const channelOf = { book: 'book', candle: 'candle', trade: 'trades' } as const

function staleChannel(
  { begunMs, bookMs, uncoveredTradeMs, unexplainedRises, unexplainedMs }: Watched,
  medianBookMs: number,
  nowMs: number,
): SilentChannel | null {
  // If the other books are as late, the connection or the venue's cadence is the reason.
  const sinceMs = Number.isNaN(bookMs) ? begunMs : bookMs
  const isBehind = medianBookMs - sinceMs > BOOK_LAG_MS_MAX
  if (isBehind && nowMs - sinceMs > BOOK_SILENCE_MS_MAX) return 'book'
  if (nowMs - uncoveredTradeMs > CANDLE_LAG_MS_MAX) return 'candle'
  const isUnexplained = unexplainedRises >= UNEXPLAINED_RISES_MAX
  if (isUnexplained && nowMs - unexplainedMs > UNEXPLAINED_MS_MAX) return 'trades'
  return null
}
