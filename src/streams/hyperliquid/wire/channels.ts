import type { BookLevel, MarketEvent } from '../../../domain/event.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { barOfRow, candleFields } from './candles.ts'
import { contextFields, contextOf } from './contexts.ts'
import type { Sides } from './field-types.ts'
import {
  addressPair,
  bestLevels,
  bookSides,
  coin,
  ignored,
  nested,
  pastTime,
  priceField,
  sizeField,
  tradeId,
  wordField,
} from './field-types.ts'
import type { DropReason } from './rejection.ts'
import type { FieldType, Row } from './row-fields.ts'
import { RowFields } from './row-fields.ts'

/** A channel with one subscription per coin: how it is subscribed, and how its rows are read. */
export type VenueChannel = {
  /** The subscription type, which is the channel of its frames. */
  readonly name: string
  readonly subscribedFor: 'every coin' | 'most traded coins'
  /** Further members of the subscription, in addition to type and coin. */
  readonly parameters?: Readonly<Record<string, string>>
  /** The member that names the coin. */
  readonly coinField: string
  /** Frames carry an array of rows instead of one row. */
  readonly isArray: boolean
  /** The venue sends each row once, so an unreadable row is a loss. */
  readonly isSentOnce: boolean
  readonly fields: RowFields<string>
  readonly eventOf: EventOfRow
}

/** @returns the reason for a row whose values contradict each other */
type EventOfRow<Name extends string = string> = (
  row: Row,
  at: Readonly<Record<Name, number>>,
  coin: string,
  timeReceivedMs: number,
) => MarketEvent | DropReason

type ChannelOptions<Name extends string> = Pick<VenueChannel, 'subscribedFor' | 'parameters'> &
  Partial<Pick<VenueChannel, 'isArray' | 'isSentOnce'>> & {
    readonly coinField?: NoInfer<Name>
    /** In the order in which the venue sends them; another order is read more slowly. */
    readonly fields: Readonly<Record<Name, FieldType>>
    readonly eventOf: EventOfRow<Name>
  }

/** Describes a channel. See CONTRIBUTING, "Add a channel of the venue". */
export function venueChannel<Name extends string>(
  name: string,
  options: ChannelOptions<Name>,
): VenueChannel {
  const { subscribedFor, parameters, coinField = 'coin', eventOf } = options
  return {
    ...{ name, subscribedFor, coinField },
    ...(parameters && { parameters }),
    isArray: options.isArray ?? false,
    isSentOnce: options.isSentOnce ?? false,
    fields: new RowFields(options.fields),
    eventOf: eventOf as EventOfRow,
  }
}

/**
 * The channels of single coins, in the order in which they are subscribed. Documentation:
 * https://hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/websocket/subscriptions
 */
export const venueChannels: readonly VenueChannel[] = [
  venueChannel('candle', {
    subscribedFor: 'every coin',
    parameters: { interval: '15m' },
    coinField: 's',
    fields: candleFields,
    eventOf: (row, at, name, timeReceivedMs) => {
      const timeframe = row.value<Timeframe>(at.i)
      const bar = barOfRow(row, at, timeframe)
      if (typeof bar === 'string') return bar
      const timeExchangeMs = timeReceivedMs
      return { kind: 'candle', coin: name, timeExchangeMs, timeReceivedMs, timeframe, bar }
    },
  }),
  venueChannel('trades', {
    subscribedFor: 'every coin',
    isArray: true,
    isSentOnce: true,
    fields: {
      coin,
      side: wordField({ A: 'sell', B: 'buy' } as const, 'bad_side'),
      px: priceField,
      sz: sizeField,
      time: pastTime,
      hash: ignored,
      tid: tradeId,
      users: addressPair,
    },
    eventOf: (row, at, name, timeReceivedMs) => {
      const kind = 'trade'
      const timeExchangeMs = row.number(at.time)
      const tradeId = row.number(at.tid)
      const takerSide = row.value<'buy' | 'sell'>(at.side)
      const tradePrice = row.number(at.px)
      const sizeBase = row.number(at.sz)
      const users = row.value<readonly [string, string] | undefined>(at.users)
      // Both literals are complete: a spread makes the frame six times as expensive.
      return users === undefined
        ? {
            kind,
            coin: name,
            timeExchangeMs,
            timeReceivedMs,
            tradeId,
            takerSide,
            price: tradePrice,
            sizeBase,
          }
        : {
            kind,
            coin: name,
            timeExchangeMs,
            timeReceivedMs,
            tradeId,
            takerSide,
            price: tradePrice,
            sizeBase,
            buyer: users[0],
            seller: users[1],
          }
    },
  }),
  venueChannel('l2Book', {
    subscribedFor: 'every coin',
    fields: { coin, time: pastTime, levels: bookSides },
    eventOf: (row, at, name, timeReceivedMs) => {
      const timeExchangeMs = row.number(at.time)
      const [bids, asks] = row.value<Sides<readonly BookLevel[]>>(at.levels)
      // A book with one invalid level is dropped as a whole: the next frame repeats it.
      if (isCrossed(bids[0], asks[0])) return 'bad_book'
      return { kind: 'book', coin: name, timeExchangeMs, timeReceivedMs, bids, asks }
    },
  }),
  venueChannel('bbo', {
    subscribedFor: 'most traded coins',
    fields: { time: pastTime, coin, bbo: bestLevels },
    eventOf: (row, at, name, timeReceivedMs) => {
      const timeExchangeMs = row.number(at.time)
      const [bid, ask] = row.value<Sides<BookLevel | null>>(at.bbo)
      if (isCrossed(bid, ask)) return 'bad_book'
      return { kind: 'top-of-book', coin: name, timeExchangeMs, timeReceivedMs, bid, ask }
    },
  }),
  venueChannel('activeAssetCtx', {
    subscribedFor: 'most traded coins',
    fields: { coin, ctx: nested('ctx', contextFields) },
    eventOf: (_, __, name, timeReceivedMs) => contextOf(contextFields.row, name, timeReceivedMs),
  }),
]

function isCrossed(bid: BookLevel | null | undefined, ask: BookLevel | null | undefined): boolean {
  return bid != null && ask != null && bid.price >= ask.price
}
