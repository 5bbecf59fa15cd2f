import type { BookEvent, CoinEvent, TradeEvent } from '../../src/domain/event.ts'
import type { MarketSample } from '../../src/domain/history.ts'

export type NaiveSpread = {
  readonly effectiveBps: number
  readonly n: number
  readonly notionalUsd: number
  readonly realizedBps: number
  readonly realizedN: number
  readonly windowSeconds: number
  readonly calibrationN: number
  readonly medianAbsErrorBps: number
  readonly p90AbsErrorBps: number
  readonly medianErrorBps: number
  readonly calibratedAtMs: number
  readonly modelN: number
  readonly modelScale: number
}

type Quote = { readonly at: number; readonly timeMs: number; readonly mid: number }
type Execution = {
  readonly timeMs: number
  readonly side: 'buy' | 'sell'
  /** Index in the log. */
  readonly first: number
  readonly last: number
  readonly trades: readonly TradeEvent[]
  /** A later execution followed. */
  readonly isOver: boolean
}

/**
 * Trading costs of one coin from its whole event log, directly by their definitions: every figure is searched
 * and summed from the start. NaN with too few values. Written independently of the incremental code under test.
 */
export function naiveSpread(log: readonly CoinEvent[]): NaiveSpread {
  const quotes = quotesOf(log)
  const books = booksOf(log)
  const trades = tradesOf(log)
  const executions = executionsOf(log, trades, quotes)
  const heardMs = Math.max(
    ...quotes.map(({ timeMs }) => timeMs),
    ...[...trades.values()].map(({ timeExchangeMs }) => timeExchangeMs),
  )
  const complete = executions.filter((one) => isComplete(one, quotes))
  const measured = complete.flatMap((execution) => {
    const before = quoteBefore(execution, quotes)
    return before === undefined ? [] : [{ execution, mid: before.mid }]
  })
  const inWindow = measured.filter(
    ({ execution }) => minute(execution.timeMs) > minute(heardMs) - 60,
  )
  let [notionalUsd, distance, realizedUsd, realized, realizedN] = [0, 0, 0, 0, 0]
  for (const { execution, mid } of inWindow) {
    const after = midAfter(execution, quotes)
    for (const { price, sizeBase } of execution.trades) {
      const usd = price * sizeBase
      notionalUsd += usd
      distance += usd * ((2 * Math.abs(price - mid)) / mid)
      if (after === undefined) continue
      realizedUsd += usd
      realized += usd * ((2 * sign(execution) * (price - after)) / mid)
    }
    if (after !== undefined) realizedN += 1
  }
  const oldest = Math.min(...inWindow.map(({ execution }) => minute(execution.timeMs)))
  return {
    effectiveBps: inWindow.length < 20 ? Number.NaN : (distance / notionalUsd) * 10_000,
    n: inWindow.length,
    notionalUsd,
    realizedBps: realizedN < 20 ? Number.NaN : (realized / realizedUsd) * 10_000,
    realizedN,
    windowSeconds: inWindow.length === 0 ? 0 : (heardMs - oldest * 60_000) / 1_000,
    ...calibrationOf(measured, books),
  }
}

/** Median and percentile of the quoted spread among the samples of the last 1,440 minutes. */
export function naiveDay(samples: readonly MarketSample[], spreadBps: number, nowMs: number) {
  const newest = new Map<number, number>()
  for (const { timeMs, spreadBps: sampled } of samples)
    if (sampled !== null && minute(timeMs) > minute(nowMs) - 1_440 && timeMs <= nowMs)
      newest.set(minute(timeMs), sampled)
  const values = [...newest.values()]
  const below = values.filter((value) => value < spreadBps).length
  const equal = values.filter((value) => value === spreadBps).length
  return {
    n: values.length,
    medianBps: values.length < 60 ? null : medianOf(values),
    percentile: values.length < 60 ? null : ((below + equal / 2) / values.length) * 100,
    windowMinutes: values.length === 0 ? 0 : minute(nowMs) - Math.min(...newest.keys()) + 1,
  }
}

/** Best quotes in order of arrival, without those older than an earlier arrival. One-sided: NaN. */
function quotesOf(log: readonly CoinEvent[]): Quote[] {
  const quotes: Quote[] = []
  log.forEach((event, at) => {
    if (event.kind !== 'book' && event.kind !== 'top-of-book') return
    const timeMs = event.timeExchangeMs
    if (quotes.some((earlier) => earlier.timeMs > timeMs)) return
    const [bid, ask] =
      event.kind === 'book' ? [event.bids[0], event.asks[0]] : [event.bid, event.ask]
    const isWhole = bid != null && ask != null && bid.price < ask.price
    quotes.push({ at, timeMs, mid: isWhole ? (bid.price + ask.price) / 2 : Number.NaN })
  })
  return quotes
}

function booksOf(log: readonly CoinEvent[]): { at: number; book: BookEvent }[] {
  return log.flatMap((event, at) => (event.kind === 'book' ? [{ at, book: event }] : []))
}

/** Trades by index in the log, without those older than an earlier arrival or than the end of a gap. */
function tradesOf(log: readonly CoinEvent[]): ReadonlyMap<number, TradeEvent> {
  const trades = new Map<number, TradeEvent>()
  log.forEach((event, at) => {
    if (event.kind !== 'trade') return
    const isLate = log.slice(0, at).some((earlier) => {
      if (earlier.kind === 'trade') return earlier.timeExchangeMs > event.timeExchangeMs
      return earlier.kind === 'trade-gap' && earlier.toMs >= event.timeExchangeMs
    })
    if (!isLate) trades.set(at, event)
  })
  return trades
}

/** Executions: runs of trades with the same time and side. */
function executionsOf(
  log: readonly CoinEvent[],
  trades: ReadonlyMap<number, TradeEvent>,
  quotes: readonly Quote[],
): Execution[] {
  const executions: { -readonly [K in keyof Execution]: Execution[K] }[] = []
  let isBroken = false
  log.forEach((event, at) => {
    const last = executions.at(-1)
    if (event.kind === 'trade-gap' || event.kind === 'silence') {
      // The last execution may lack trades, unless a later quote arrived before the gap.
      if (last !== undefined && !last.isOver && !isFollowed(last, at, quotes)) executions.pop()
      isBroken = true
      return
    }
    const trade = trades.get(at)
    if (trade === undefined) return
    const { timeExchangeMs: timeMs, takerSide: side } = trade
    const isSame = last?.timeMs === timeMs && last.side === side
    if (last !== undefined && isSame && !isBroken && !isFollowed(last, at, quotes)) {
      last.trades = [...last.trades, trade]
      last.last = at
    } else {
      if (last !== undefined) last.isOver = true
      executions.push({ timeMs, side, first: at, last: at, trades: [trade], isOver: false })
    }
    isBroken = false
  })
  return executions
}

function isFollowed(one: Execution, at: number, quotes: readonly Quote[]): boolean {
  return quotes.some((quote) => quote.at > one.last && quote.at < at && quote.timeMs > one.timeMs)
}

/** Another execution, or a quote with a later time, arrived after it. */
function isComplete(one: Execution, quotes: readonly Quote[]): boolean {
  return one.isOver || isFollowed(one, Number.POSITIVE_INFINITY, quotes)
}

function quoteBefore(one: Execution, quotes: readonly Quote[]): Quote | undefined {
  const before = quotes.filter((quote) => quote.at < one.first && quote.timeMs < one.timeMs).at(-1)
  if (before === undefined || Number.isNaN(before.mid)) return undefined
  return one.timeMs - before.timeMs <= 1_000 ? before : undefined
}

function midAfter(one: Execution, quotes: readonly Quote[]): number | undefined {
  const after = quotes.find(
    (quote) =>
      quote.at > one.last && quote.timeMs >= one.timeMs + 10_000 && !Number.isNaN(quote.mid),
  )
  return after !== undefined && after.timeMs <= one.timeMs + 16_000 ? after.mid : undefined
}

function calibrationOf(
  measured: readonly { readonly execution: Execution; readonly mid: number }[],
  books: readonly { readonly at: number; readonly book: BookEvent }[],
) {
  const errors: number[] = []
  const ratios: number[] = []
  let calibratedAtMs = Number.NaN
  const scale = () => {
    const recent = ratios.slice(-64)
    return recent.length < 20 ? 1 : Math.min(3, Math.max(0.5, medianOf(recent)))
  }
  for (const { execution, mid } of measured) {
    const { trades, timeMs, first } = execution
    const usd = trades.reduce((sum, { price, sizeBase }) => sum + price * sizeBase, 0)
    const base = trades.reduce((sum, { sizeBase }) => sum + sizeBase, 0)
    // A trade that arrives after two later books is too late.
    const book = inTime(books.filter(({ at }) => at < first).map((entry) => entry.book))
      .slice(-2)
      .findLast((one) => one.timeExchangeMs < timeMs)
    if (book === undefined || timeMs - book.timeExchangeMs > 6_000 || usd < 1_000) continue
    const estimate = estimateBps(book, sign(execution), usd)
    if (estimate === null) continue
    const paid = sign(execution) * ((usd / base - mid) / mid) * 10_000
    errors.push(paid - estimate.bps(scale()))
    calibratedAtMs = timeMs
    if (estimate.isModel && estimate.bps(1) > 0) ratios.push(paid / estimate.bps(1))
  }
  const recent = errors.slice(-256)
  const isEnough = recent.length >= 20
  return {
    calibrationN: recent.length,
    medianAbsErrorBps: isEnough ? medianOf(recent.map(Math.abs)) : Number.NaN,
    p90AbsErrorBps: isEnough ? nineOfTen(recent.map(Math.abs)) : Number.NaN,
    medianErrorBps: isEnough ? medianOf(recent) : Number.NaN,
    calibratedAtMs,
    modelN: Math.min(64, ratios.length),
    modelScale: scale(),
  }
}

/** Books without those older than an earlier arrival; the last one of equal times counts. */
function inTime(books: readonly BookEvent[]): BookEvent[] {
  const kept = books.filter((book, at) =>
    books.slice(0, at).every((earlier) => earlier.timeExchangeMs <= book.timeExchangeMs),
  )
  return kept.filter((book, at) => kept[at + 1]?.timeExchangeMs !== book.timeExchangeMs)
}

/** Cost of a size relative to the book's mid; null for a one-sided or crossed book. */
export function estimateBps({ bids, asks }: BookEvent, direction: 1 | -1, usd: number) {
  const [bid, ask] = [bids[0], asks[0]]
  if (bid === undefined || ask === undefined || bid.price >= ask.price) return null
  const mid = (bid.price + ask.price) / 2
  const levels = direction === 1 ? asks : bids
  const visibleUsd = levels.reduce((sum, { price, sizeBase }) => sum + price * sizeBase, 0)
  const costBps = (paidUsd: number, base: number) => direction * (paidUsd / base / mid - 1) * 10_000
  const base = (wantedUsd: number) => {
    let [left, got] = [wantedUsd, 0]
    for (const { price, sizeBase } of levels) {
      const taken = Math.min(left, price * sizeBase)
      got += taken / price
      left -= taken
    }
    return got
  }
  if (usd <= visibleUsd) return { isModel: false, bps: () => costBps(usd, base(usd)) }
  const last = levels[levels.length - 1]?.price ?? mid
  const floorBps = costBps(usd, base(visibleUsd) + (usd - visibleUsd) / last)
  const visibleBps = costBps(visibleUsd, base(visibleUsd))
  return {
    isModel: true,
    bps: (scale: number) => Math.max(floorBps, scale * visibleBps * Math.sqrt(usd / visibleUsd)),
  }
}

function sign({ side }: Execution): 1 | -1 {
  return side === 'buy' ? 1 : -1
}

function minute(timeMs: number): number {
  return Math.floor(timeMs / 60_000)
}

/** The smallest value that 90 % do not exceed. */
function nineOfTen(values: readonly number[]): number {
  return Math.min(
    ...values.filter((bound) => values.filter((one) => one <= bound).length >= 0.9 * values.length),
  )
}

function medianOf(values: readonly number[]): number {
  const ascending = [...values].sort((one, other) => one - other)
  const half = ascending.length / 2
  const [lower, upper] = [ascending[Math.ceil(half) - 1], ascending[Math.floor(half)]]
  return ((lower ?? Number.NaN) + (upper ?? Number.NaN)) / 2
}
