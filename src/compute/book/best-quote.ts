import type { BookEvent, BookLevel, TopOfBookEvent } from '../../domain/event.ts'

const BPS = 10_000

/** Best bid and ask; either is null on a one-sided book. */
export type BestQuote = {
  readonly bid: BookLevel | null
  readonly ask: BookLevel | null
  readonly confirmedAtMs: number
}

/** The newer of both: the venue sends whole books rarely, and best levels on every change. */
export function newerQuote(book: BookEvent | null, top: TopOfBookEvent | null): BestQuote | null {
  if (top !== null && (book === null || top.timeExchangeMs > book.timeExchangeMs))
    return { bid: top.bid, ask: top.ask, confirmedAtMs: top.timeReceivedMs }
  if (book === null) return null
  return {
    bid: book.bids[0] ?? null,
    ask: book.asks[0] ?? null,
    confirmedAtMs: book.timeReceivedMs,
  }
}

/** (bid + ask) / 2; null on a one-sided book. */
export function midOf(quote: BestQuote | null): number | null {
  if (quote === null || quote.bid === null || quote.ask === null) return null
  return (quote.bid.price + quote.ask.price) / 2
}

/** Further apart than this share of their mean, one of both sides is not of the market, and the mean is no price. */
const MID_SPREAD_BPS_MAX = 500

/** Whether both sides exist, too far apart for a price between them. */
export function isWide(quote: BestQuote | null): boolean {
  return (spreadBpsOf(quote) ?? 0) > MID_SPREAD_BPS_MAX
}

/** The mid as a price of the coin; null on a one-sided book and on a wide one. */
export function quotedPrice(quote: BestQuote | null): number | null {
  return isWide(quote) ? null : midOf(quote)
}

/** (ask - bid) / mid; null on a one-sided book. */
export function spreadBpsOf(quote: BestQuote | null): number | null {
  const mid = midOf(quote)
  if (mid === null || quote === null || quote.bid === null || quote.ask === null) return null
  return ((quote.ask.price - quote.bid.price) / mid) * BPS
}
