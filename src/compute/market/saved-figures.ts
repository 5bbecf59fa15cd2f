import type { BookEvent, BookLevel, ContextEvent, TopOfBookEvent } from '../../domain/event.ts'
import { joinSections, splitSections } from './saved-sections.ts'

/** Last figures of one coin besides its candles. */
export type Figures = {
  readonly context: ContextEvent | null
  readonly book: BookEvent | null
  readonly top: TopOfBookEvent | null
}

/** Levels a side; the venue sends 20. */
const LEVELS_MAX = 20
const contextFields = [
  ...(['timeExchangeMs', 'timeReceivedMs', 'markPrice', 'oraclePrice', 'midPrice'] as const),
  ...(['premium', 'impactBid', 'impactAsk', 'fundingRateHourly', 'openInterestBase'] as const),
  ...(['dayNotional', 'prevDayPrice'] as const),
]
const TOP_FIELDS = 6
const BOOK_HEADER_FIELDS = 4

/** Encodes figures for the checkpoint: three sections, empty for none. NaN encodes null. */
export function figuresToNumbers({ context, book, top }: Figures): Float64Array {
  return joinSections([contextToNumbers(context), bookToNumbers(book), topToNumbers(top)])
}

/** @returns null for numbers that {@link figuresToNumbers} did not produce */
export function figuresFromNumbers(coin: string, numbers: Float64Array): Figures | null {
  const [context, book, top, ...others] = splitSections(numbers) ?? []
  if (context === undefined || book === undefined || top === undefined || others.length > 0)
    return null
  const isWhole =
    [0, contextFields.length].includes(context.length) &&
    [0, TOP_FIELDS].includes(top.length) &&
    (book.length === 0 || book.length === bookFields(book))
  if (!isWhole) return null
  return {
    context: contextFromNumbers(coin, context),
    book: bookFromNumbers(coin, book),
    top: topFromNumbers(coin, top),
  }
}

function contextToNumbers(context: ContextEvent | null): readonly number[] {
  return context === null ? [] : contextFields.map((name) => context[name] ?? Number.NaN)
}

function contextFromNumbers(coin: string, numbers: Float64Array): ContextEvent | null {
  if (numbers.length === 0) return null
  const figures = contextFields.map((name, at) => [name, orNull(numbers[at] as number)])
  return { kind: 'context', coin, ...Object.fromEntries(figures) } as ContextEvent
}

function bookToNumbers(book: BookEvent | null): readonly number[] {
  if (book === null) return []
  const bids = book.bids.slice(0, LEVELS_MAX)
  const asks = book.asks.slice(0, LEVELS_MAX)
  const levels = [...bids, ...asks].flatMap(({ price, sizeBase }) => [price, sizeBase])
  return [book.timeExchangeMs, book.timeReceivedMs, bids.length, asks.length, ...levels]
}

function bookFields(numbers: Float64Array): number {
  return BOOK_HEADER_FIELDS + 2 * ((numbers[2] as number) + (numbers[3] as number))
}

function bookFromNumbers(coin: string, numbers: Float64Array): BookEvent | null {
  const [timeExchangeMs, timeReceivedMs, bidCount, askCount] = numbers
  if (timeExchangeMs === undefined || timeReceivedMs === undefined) return null
  if (bidCount === undefined || askCount === undefined) return null
  const levels = (from: number, count: number): readonly BookLevel[] =>
    Array.from({ length: count }, (_, index) => ({
      price: numbers[from + 2 * index] as number,
      sizeBase: numbers[from + 2 * index + 1] as number,
    }))
  const bids = levels(BOOK_HEADER_FIELDS, bidCount)
  const asks = levels(BOOK_HEADER_FIELDS + 2 * bidCount, askCount)
  return { kind: 'book', coin, timeExchangeMs, timeReceivedMs, bids, asks }
}

function topToNumbers(top: TopOfBookEvent | null): readonly number[] {
  if (top === null) return []
  const { timeExchangeMs, timeReceivedMs, bid, ask } = top
  return [timeExchangeMs, timeReceivedMs, ...levelToNumbers(bid), ...levelToNumbers(ask)]
}

function topFromNumbers(coin: string, numbers: Float64Array): TopOfBookEvent | null {
  if (numbers.length === 0) return null
  const level = (at: number): BookLevel | null => {
    const price = numbers[at] as number
    return Number.isNaN(price) ? null : { price, sizeBase: numbers[at + 1] as number }
  }
  return {
    kind: 'top-of-book',
    coin,
    timeExchangeMs: numbers[0] as number,
    timeReceivedMs: numbers[1] as number,
    bid: level(2),
    ask: level(4),
  }
}

function levelToNumbers(level: BookLevel | null): readonly number[] {
  return level === null ? [Number.NaN, Number.NaN] : [level.price, level.sizeBase]
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}
