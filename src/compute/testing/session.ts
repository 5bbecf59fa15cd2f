import type { Batch, MarketEvent } from '../../domain/event.ts'
import { barOpenTimeMs, timeframeMs } from '../../domain/timeframe.ts'
import { book, context, warmTape, wave } from './tape.ts'

const STEP_MS = 500
/** What the venue's frames take to reach us. */
const LAG_MS = 200

type Quarter = { openTimeMs: number; open: number; high: number; low: number; volumeBase: number }

/**
 * What a live venue tells of one coin after the tape that warms it: quotes, trades with their candles,
 * books and figures at their cadences. The same seed tells the same.
 */
export class Session {
  readonly coin: string
  readonly #chance: () => number
  #timeMs: number
  #price: number
  #tradeId = 0
  #quarter: Quarter

  constructor(coin: string, startMs: number, seed: number) {
    this.coin = coin
    this.#chance = chanceOf(seed)
    this.#timeMs = startMs
    this.#price = wave('15m', 1).at(-1)?.close ?? 100
    this.#quarter = newQuarter(startMs, this.#price)
  }

  get nowMs(): number {
    return this.#timeMs
  }

  /** From nothing to an answer, before the first step. */
  warm(): readonly Batch[] {
    return warmTape(this.coin)
  }

  /** A pause without events. */
  pause(ms: number): void {
    this.#timeMs += ms
  }

  /** The frames of this many milliseconds, one batch each. */
  *run(ms: number): Generator<Batch> {
    const untilMs = this.#timeMs + ms
    while (this.#timeMs + STEP_MS <= untilMs) {
      this.#timeMs += STEP_MS
      yield* this.#step(Math.round(this.#timeMs / STEP_MS))
    }
  }

  *#step(step: number): Generator<Batch> {
    this.#price *= 1 + (this.#chance() - 0.5) * 4e-4
    if (step % 11 === 0) yield [this.#book()]
    if (step % 10 === 0) yield [this.#context()]
    if (step % 2 === 0) yield [this.#mark()]
    if (this.#chance() < 0.5) yield [this.#top()]
    const fills = Math.floor(this.#chance() * 4) - 1
    if (fills > 0) {
      const trades = this.#trades(fills)
      yield trades
      yield [this.#candle(trades)]
    }
  }

  #book(): MarketEvent {
    const side = (sign: 1 | -1) =>
      Array.from({ length: 20 }, (_, level) => ({
        price: this.#price * (1 + sign * (1e-4 + level * 2e-4)),
        sizeBase: 5 + level + 10 * this.#chance(),
      }))
    return book(this.coin, { bids: side(-1), asks: side(1), ...this.#stamp() })
  }

  #context(): MarketEvent {
    return context(this.coin, {
      markPrice: this.#price,
      oraclePrice: this.#price * 0.9999,
      midPrice: this.#price,
      impactBid: this.#price * 0.9997,
      impactAsk: this.#price * 1.0003,
      openInterestBase: 1_000 + 10 * this.#chance(),
      fundingRateHourly: (this.#chance() - 0.3) * 1e-4,
      ...this.#stamp(),
    })
  }

  #mark(): MarketEvent {
    return { kind: 'mark', coin: this.coin, markPrice: this.#price, ...this.#stamp() }
  }

  #top(): MarketEvent {
    const level = (sign: 1 | -1) => ({
      price: this.#price * (1 + sign * 1e-4),
      sizeBase: 1 + 10 * this.#chance(),
    })
    return {
      kind: 'top-of-book',
      coin: this.coin,
      bid: level(-1),
      ask: level(1),
      ...this.#stamp(),
    }
  }

  /** One taker's order. */
  #trades(fills: number): MarketEvent[] {
    const direction = this.#chance() < 0.5 ? 1 : -1
    const stamp = this.#stamp()
    return Array.from({ length: fills }, (_, fill) => {
      this.#tradeId += 1
      return {
        kind: 'trade' as const,
        coin: this.coin,
        tradeId: this.#tradeId,
        takerSide: direction === 1 ? ('buy' as const) : ('sell' as const),
        price: this.#price * (1 + direction * (1e-4 + fill * 2e-4)),
        sizeBase: 1 + 30 * this.#chance(),
        ...stamp,
      }
    })
  }

  #candle(trades: readonly MarketEvent[]): MarketEvent {
    const openTimeMs = barOpenTimeMs(this.#timeMs, '15m')
    if (openTimeMs !== this.#quarter.openTimeMs) this.#quarter = newQuarter(openTimeMs, this.#price)
    const quarter = this.#quarter
    let close = quarter.open
    for (const trade of trades) {
      if (trade.kind !== 'trade') continue
      quarter.high = Math.max(quarter.high, trade.price)
      quarter.low = Math.min(quarter.low, trade.price)
      quarter.volumeBase += trade.sizeBase
      close = trade.price
    }
    const bar = { ...quarter, close }
    return { kind: 'candle', coin: this.coin, timeframe: '15m', bar, ...this.#stamp() }
  }

  #stamp() {
    return { timeExchangeMs: this.#timeMs, timeReceivedMs: this.#timeMs + LAG_MS }
  }
}

function newQuarter(timeMs: number, price: number): Quarter {
  const openTimeMs = Math.floor(timeMs / timeframeMs['15m']) * timeframeMs['15m']
  return { openTimeMs, open: price, high: price, low: price, volumeBase: 0 }
}

/** Numbers from 0 to below 1: a linear congruential generator (Numerical Recipes). */
function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
