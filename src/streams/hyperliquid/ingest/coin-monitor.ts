import type { Batch, SilentChannel } from '../../../domain/event.ts'

/** Whole books come every 5.4 s, whether or not they changed: three are missing. */
const BOOK_SILENCE_MS_MAX = 20_000
const BOOK_LAG_MS_MAX = 10_000
/** The venue tells a trade and the candle that it changed within one block, either one first. */
const CANDLE_LEAD_MS_MAX = 2_000
const CANDLE_LAG_MS_MAX = 10_000
/** The day's volume may be told a little before the trades themselves. */
const UNEXPLAINED_RISES_MAX = 3
const UNEXPLAINED_MS_MAX = 30_000
/** A renewed subscription is given this long, then twice as long, and so on. */
const PATIENCE_MS_MIN = 30_000
const PATIENCE_MS_MAX = 600_000

/** One coin's channel that is silent, or was. */
export type StaleCoin = {
  readonly coin: string
  readonly channel: SilentChannel
  /** How often it was found silent in a row, from 1. */
  readonly times: number
}

type Heard = {
  readonly socket: number
  readonly begunMs: number
  /** NaN before any. */
  bookMs: number
  candleMs: number
  /** The first trade since that no candle followed; NaN while there is none. */
  uncoveredTradeMs: number
  /** NaN before any. */
  dayNotionalUsd: number
  /** Rises of the day's volume since a trade was last heard. */
  unexplainedRises: number
  /** When the first of them was told. */
  unexplainedMs: number
  silent: SilentChannel | null
  /** What it was found silent on over a connection before, and was not heard on since. */
  unheard: SilentChannel | null
  times: number
  /**
   * When a new subscription told what the present silence had shown to be missing, and no volume has risen since. NaN
   * before. That it tells what comes next is not proven by that.
   */
  madeGoodMs: number
  /** When the present silence is told again. */
  dueMs: number
}

/**
 * Finds the coin that fell silent on a connection that lives. Quiet coins trade rarely, so silence
 * alone proves nothing: a book has a fixed cadence, a trade changes a candle, and the volume of the
 * day does not rise without trades. Best quotes and the figures of single coins are not looked at: whole books
 * and the figures of all coins say the same a few seconds later, and answers tell how old they are.
 */
export class CoinMonitor {
  readonly #coins = new Map<string, Heard>()
  /**
   * What was found over connections that are gone, and stays true over the next one: else each would be given up
   * for the coin that the one before was given up for.
   */
  readonly #unheard = new Map<string, StaleCoin>()

  /** The venue has acknowledged the coin's subscriptions on this socket: from here on it is expected. */
  begin(coin: string, socket: number, nowMs: number): void {
    const known = this.#coins.get(coin)
    if (known?.socket === socket) return
    const before = this.#unheard.get(coin)
    this.#unheard.delete(coin)
    this.#coins.set(coin, {
      socket,
      begunMs: nowMs,
      bookMs: Number.NaN,
      candleMs: nowMs,
      uncoveredTradeMs: Number.NaN,
      dayNotionalUsd: Number.NaN,
      unexplainedRises: 0,
      unexplainedMs: nowMs,
      silent: null,
      unheard: before?.channel ?? null,
      times: before?.times ?? 0,
      madeGoodMs: Number.NaN,
      dueMs: 0,
    })
  }

  /**
   * A new subscription has what was missing: the venue replayed the trades that the volume told of, or acknowledged
   * candles, whose history is asked then. A coin that nobody trades any more would else stay silent, and have its
   * connection replaced for a frame that was made good.
   */
  madeGood(coin: string, channel: 'candle' | 'trades', nowMs: number): void {
    const heard = this.#coins.get(coin)
    if (heard?.silent !== channel) return
    if (channel === 'candle') heard.uncoveredTradeMs = Number.NaN
    else heard.unexplainedRises = 0
    heard.madeGoodMs = nowMs
  }

  /** Its connection is gone. */
  lost(coin: string): void {
    const heard = this.#coins.get(coin)
    this.#coins.delete(coin)
    const channel = heard?.silent ?? heard?.unheard ?? null
    if (heard !== undefined && channel !== null)
      this.#unheard.set(coin, { coin, channel, times: heard.times })
  }

  /** The coin is gone. */
  end(coin: string): void {
    this.#coins.delete(coin)
    this.#unheard.delete(coin)
  }

  /**
   * @param batch the events of one frame that the venue sent just now: no replay of the past
   * @param delayMs for how long the frame was held up: a book that was read late is no young one
   * @returns the coins that were silent and are heard again
   */
  heard(batch: Batch, nowMs: number, delayMs = 0): readonly StaleCoin[] {
    const [first] = batch
    if (first === undefined) return []
    switch (first.kind) {
      case 'book':
      case 'candle':
      case 'trade': {
        const heard = this.#coins.get(first.coin)
        if (heard === undefined) return []
        if (first.kind === 'book') heard.bookMs = nowMs - delayMs
        return this.#hear(first.coin, heard, first.kind, nowMs)
      }
      case 'context':
        for (const event of batch) {
          if (event.kind !== 'context') continue
          const heard = this.#coins.get(event.coin)
          if (heard === undefined) continue
          if (event.dayNotionalUsd > heard.dayNotionalUsd) {
            if (heard.unexplainedRises === 0) heard.unexplainedMs = nowMs
            heard.unexplainedRises += 1
            // It is traded: what is missing now comes live, or not at all.
            if (!Number.isNaN(heard.madeGoodMs)) heard.madeGoodMs = nowMs
          }
          heard.dayNotionalUsd = event.dayNotionalUsd
        }
        return []
      default:
        return []
    }
  }

  /** Called every second. @returns the coins that are found silent now. */
  tick(nowMs: number): readonly StaleCoin[] {
    const usual = new Map<number, number>()
    const found: StaleCoin[] = []
    for (const [coin, heard] of this.#coins) {
      const { socket } = heard
      let usualMs = usual.get(socket)
      if (usualMs === undefined) {
        usualMs = this.#usualBookMs(socket)
        usual.set(socket, usualMs)
      }
      const channel = silentChannel(heard, usualMs, nowMs)
      if (channel === null || (heard.silent !== null && nowMs < heard.dueMs)) continue
      heard.silent = channel
      heard.unheard = null
      heard.madeGoodMs = Number.NaN
      heard.times += 1
      heard.dueMs =
        nowMs + Math.min(PATIENCE_MS_MAX, PATIENCE_MS_MIN * 2 ** Math.min(heard.times - 1, 10))
      found.push({ coin, channel, times: heard.times })
    }
    return found
  }

  /**
   * When half of the coins that are heard on a socket had been heard last; NaN without any. Those that
   * were found silent do not count: else it takes no more than half of the coins to hide the next one.
   */
  #usualBookMs(socket: number): number {
    const times = [...this.#coins.values()]
      .filter((heard) => heard.socket === socket && heard.silent !== 'book')
      .filter(({ bookMs }) => !Number.isNaN(bookMs))
      .map(({ bookMs }) => bookMs)
      .toSorted((one, other) => one - other)
    return times[Math.floor(times.length / 2)] ?? Number.NaN
  }

  #hear(
    coin: string,
    heard: Heard,
    kind: 'book' | 'candle' | 'trade',
    nowMs: number,
  ): readonly StaleCoin[] {
    if (kind === 'candle') {
      heard.candleMs = nowMs
      heard.uncoveredTradeMs = Number.NaN
    } else if (kind === 'trade') {
      heard.unexplainedRises = 0
      const isCovered = nowMs - heard.candleMs <= CANDLE_LEAD_MS_MAX
      if (!isCovered && Number.isNaN(heard.uncoveredTradeMs)) heard.uncoveredTradeMs = nowMs
    }
    const channel = heard.silent
    const isProof = channelOf[kind] === (channel ?? heard.unheard)
    if (isProof) heard.madeGoodMs = Number.NaN
    if (isProof && channel === null) {
      heard.unheard = null
      heard.times = 0
    }
    if (channel === null || silentChannel(heard, nowMs, nowMs) !== null) return []
    const isMadeGood = !Number.isNaN(heard.madeGoodMs)
    if (isMadeGood && !isQuiet(heard, nowMs)) return []
    const { times } = heard
    heard.silent = null
    // Nothing is missing, and nothing was heard: found again before that, it was renewed in vain.
    if (isMadeGood) heard.unheard = channel
    else heard.times = 0
    heard.madeGoodMs = Number.NaN
    return [{ coin, channel, times }]
  }
}

/** Nothing was traded since, by trades and by volume, that would have had to be heard. */
function isQuiet({ madeGoodMs, uncoveredTradeMs }: Heard, nowMs: number): boolean {
  return Number.isNaN(uncoveredTradeMs) && nowMs - madeGoodMs > UNEXPLAINED_MS_MAX
}

/** What is proven by the events of a kind. */
const channelOf = { book: 'book', candle: 'candle', trade: 'trades' } as const

function silentChannel(
  { begunMs, bookMs, uncoveredTradeMs, unexplainedRises, unexplainedMs }: Heard,
  usualBookMs: number,
  nowMs: number,
): SilentChannel | null {
  // Where the others are as silent, it is the connection, or the venue's cadence: not this coin.
  const sinceMs = Number.isNaN(bookMs) ? begunMs : bookMs
  const isBehind = usualBookMs - sinceMs > BOOK_LAG_MS_MAX
  if (isBehind && nowMs - sinceMs > BOOK_SILENCE_MS_MAX) return 'book'
  if (nowMs - uncoveredTradeMs > CANDLE_LAG_MS_MAX) return 'candle'
  const isUnexplained = unexplainedRises >= UNEXPLAINED_RISES_MAX
  if (isUnexplained && nowMs - unexplainedMs > UNEXPLAINED_MS_MAX) return 'trades'
  return null
}
