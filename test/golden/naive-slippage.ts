import type { BookEvent, CoinEvent, TradeEvent } from '../../src/domain/event.ts'
import { estimateBps } from './naive-spread.ts'

const QUARTER_MS = 900_000
const SIZES_USD = [10_000, 50_000, 100_000, 500_000]
const LEVELS = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]

/** Trades of one instant and side, measured against the quote before them. */
type Execution = {
  readonly timeMs: number
  readonly direction: 1 | -1
  readonly usd: number
  readonly paidBps: number
  /** Place in the log of its first trade, and of the event by which it is known to be complete. */
  readonly first: number
  readonly known: number
}

/**
 * The claims of `slippage.walk@2` by docs/numbers/track-record.md, searched in the whole log of trades, quotes and books
 * of one coin. Written independently of the incremental code under test.
 */
export class NaiveSlippage {
  readonly #log: readonly CoinEvent[]
  readonly #executions: readonly Execution[]

  /** @param log in the order of arrival */
  constructor(log: readonly CoinEvent[]) {
    this.#log = log
    this.#executions = executionsOf(log)
  }

  /** Direction, size and quantiles; null where the rule abstains. */
  claim(atMs: number, nowMs: number, item: number) {
    const direction = item % 2 === 0 ? 1 : -1
    const steps = Array.from({ length: 8 }, (_, back) => atMs - (back + 1) * QUARTER_MS)
    const sizes = SIZES_USD.flatMap((_, size) =>
      steps.some((fromMs) => typeof this.firstCost(fromMs, direction, size) === 'number')
        ? [size]
        : [],
    )
    const size = sizes[Math.floor(item / 2) % sizes.length]
    const book = this.#log.findLast((event) => event.kind === 'book')
    if (size === undefined || book === undefined || nowMs - book.timeReceivedMs > 6_000) return null
    const usd = SIZES_USD[size] ?? Number.NaN
    const { errors, roots, scale } = this.#calibration()
    const estimate = estimateBps(book, direction, usd)
    if (estimate === null || errors.length < 20) return null
    const byBook = estimate.bps(scale)
    return {
      reference: [direction, size],
      values: LEVELS.map((level) => byBook + atLeast(errors, level)),
      control: LEVELS.map((level) => Math.sqrt(usd) * atLeast(roots, level)),
    }
  }

  /** What the first execution of a size pays after the first minute of a quarter of an hour. */
  firstCost(fromMs: number, direction: 1 | -1, size: number): number | 'no_trade' | 'gap' {
    const first = this.#executions.find(
      (one) =>
        one.direction === direction &&
        one.timeMs >= fromMs + 60_000 &&
        one.timeMs < fromMs + QUARTER_MS &&
        nearestSize(one.usd) === size,
    )
    const lost = this.#log.findIndex(
      (event) =>
        event.kind === 'trade-gap' && event.toMs >= fromMs && event.fromMs < fromMs + QUARTER_MS,
    )
    if (lost >= 0 && lost < (first?.known ?? Number.POSITIVE_INFINITY)) return 'gap'
    return first?.paidBps ?? 'no_trade'
  }

  /** Of the last 256 executions of 1,000 USD and more: error of the walked book, and coefficient of the root law. */
  #calibration() {
    const [errors, roots, ratios]: [number[], number[], number[]] = [[], [], []]
    let scale = 1
    for (const { direction, usd, paidBps, timeMs, first } of this.#executions) {
      const book = usd < 1_000 ? null : bookBefore(this.#log, first, timeMs)
      const estimate = book === null ? null : estimateBps(book, direction, usd)
      if (estimate === null) continue
      errors.push(paidBps - estimate.bps(scale))
      roots.push(paidBps / Math.sqrt(usd))
      if (!estimate.isModel || estimate.bps(1) <= 0) continue
      ratios.push(paidBps / estimate.bps(1))
      const recent = ratios.slice(-64).sort((one, other) => one - other)
      const [low = 0, high = 0] = [recent[(recent.length - 1) >> 1], recent[recent.length >> 1]]
      scale = recent.length < 20 ? 1 : Math.min(3, Math.max(0.5, (low + high) / 2))
    }
    return { errors: errors.slice(-256), roots: roots.slice(-256), scale }
  }
}

/** Complete ones with a quote at most a second before them. */
function executionsOf(log: readonly CoinEvent[]): readonly Execution[] {
  const quotes = quotesOf(log)
  const groups: { trades: TradeEvent[]; first: number; last: number }[] = []
  /** The first event in between that ends an execution: a quote of a later instant, or a gap. */
  const endOf = (last: number, timeMs: number, until: number): number | null => {
    for (let at = last + 1; at < until; at += 1)
      if (log[at]?.kind === 'trade-gap' || (quotes.get(at)?.timeMs ?? timeMs) > timeMs) return at
    return null
  }
  let [newestMs, lostUntilMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [at, event] of log.entries()) {
    if (event.kind === 'trade-gap') lostUntilMs = Math.max(lostUntilMs, event.toMs)
    if (event.kind !== 'trade') continue
    const { timeExchangeMs: timeMs, takerSide } = event
    // The venue repeats trades after a pause.
    if (timeMs < newestMs || timeMs <= lostUntilMs) continue
    newestMs = timeMs
    const group = groups.at(-1)
    const before = group?.trades[0]
    const isSame = before?.timeExchangeMs === timeMs && before.takerSide === takerSide
    if (group === undefined || !isSame || endOf(group.last, timeMs, at) !== null)
      groups.push({ trades: [event], first: at, last: at })
    else {
      group.trades.push(event)
      group.last = at
    }
  }
  return groups.flatMap(({ trades, first, last }, place) => {
    const { timeExchangeMs: timeMs, takerSide } = trades[0] as TradeEvent
    const next = groups[place + 1]?.first ?? log.length
    const known = endOf(last, timeMs, next) ?? next
    const mid = midBefore(quotes, first, timeMs)
    if (known === log.length || log[known]?.kind === 'trade-gap' || mid === null) return []
    const usd = trades.reduce((sum, { price, sizeBase }) => sum + price * sizeBase, 0)
    const base = trades.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
    const direction = takerSide === 'buy' ? 1 : -1
    const paidBps = 10_000 * direction * (usd / base / mid - 1)
    return [{ timeMs, direction, usd, paidBps, first, known }]
  })
}

type Quote = { readonly timeMs: number; readonly mid: number | null }

/** Quotes by place in the log, without those older than an earlier arrival. */
function quotesOf(log: readonly CoinEvent[]): ReadonlyMap<number, Quote> {
  const quotes = new Map<number, Quote>()
  let newestMs = Number.NEGATIVE_INFINITY
  for (const [at, event] of log.entries()) {
    if (event.kind !== 'book' && event.kind !== 'top-of-book') continue
    const timeMs = event.timeExchangeMs
    if (timeMs < newestMs) continue
    newestMs = timeMs
    const [bid, ask] =
      event.kind === 'book' ? [event.bids[0], event.asks[0]] : [event.bid, event.ask]
    const isWhole = bid != null && ask != null && bid.price < ask.price
    quotes.set(at, { timeMs, mid: isWhole ? (bid.price + ask.price) / 2 : null })
  }
  return quotes
}

/** Of the last quote before an instant; null if it is more than a second old. */
function midBefore(quotes: ReadonlyMap<number, Quote>, until: number, timeMs: number) {
  for (let at = until - 1; at >= 0; at -= 1) {
    const quote = quotes.get(at)
    if (quote !== undefined && quote.timeMs < timeMs)
      return timeMs - quote.timeMs <= 1_000 ? quote.mid : null
  }
  return null
}

/** The newer of the last two books that is before an instant; null if it is older than 6 s. */
function bookBefore(log: readonly CoinEvent[], until: number, timeMs: number): BookEvent | null {
  const books: BookEvent[] = []
  for (let at = until - 1; at >= 0 && books.length < 2; at -= 1) {
    const event = log[at]
    if (event?.kind === 'book' && event.timeExchangeMs !== books[0]?.timeExchangeMs)
      books.push(event)
  }
  const book = books.find(({ timeExchangeMs }) => timeExchangeMs < timeMs)
  return book !== undefined && timeMs - book.timeExchangeMs <= 6_000 ? book : null
}

function nearestSize(usd: number): number {
  const times = SIZES_USD.map((size) => Math.max(usd / size, size / usd))
  const nearest = Math.min(...times)
  return nearest <= 2 ? times.indexOf(nearest) : -1
}

/** The smallest value that a share of them does not exceed. */
function atLeast(values: readonly number[], share: number): number {
  const ascending = values.toSorted((one, other) => one - other)
  return ascending.find((_, at) => at + 1 >= share * values.length) ?? Number.NaN
}
