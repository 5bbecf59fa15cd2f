import type { SilentChannel } from '../../../domain/event.ts'
import type { Drop, RejectReason } from '../wire/rejection.ts'
import type { MarketChannel } from '../wire/subscription.ts'

/** What an operator may count or log. It has no effect on the data. */
export type FeedEvent =
  /** A whole frame was rejected. */
  | { readonly kind: 'frame-rejected'; readonly reason: RejectReason }
  /** One value of a valid frame or reply was dropped. */
  | ({ readonly kind: 'value-dropped' } & Drop)
  /** A fill of the source of all liquidations was dropped. */
  | ({ readonly kind: 'liquidation-dropped' } & Drop)
  /** The replay after a subscription contains known trades: none is lost. */
  | {
      readonly kind: 'trades-bridged'
      readonly coin: string
      readonly repeated: number
      readonly fresh: number
    }
  /** A channel of one coin is stale on a live connection; it was subscribed again. */
  | {
      readonly kind: 'coin-silent'
      readonly coin: string
      readonly channel: SilentChannel
      readonly times: number
    }
  /** A channel of all coins is stale on a live connection; it was subscribed again. */
  | { readonly kind: 'channel-silent'; readonly socket: number; readonly channel: MarketChannel }
  /** The venue closed a connection right after these coins were subscribed. */
  | { readonly kind: 'quarantined'; readonly coins: readonly string[] }
  /** A quarantined coin was subscribed alone: accepted, or the venue closed the connection again. */
  | { readonly kind: 'probed'; readonly coin: string; readonly isAccepted: boolean }
  /** The number of coins beyond the venue's subscription limit. */
  | { readonly kind: 'left-out'; readonly count: number }
  /** Subscriptions without acknowledgement were sent again. */
  | { readonly kind: 'unacknowledged'; readonly socket: number; readonly count: number }
  /** The venue refused a message. */
  | { readonly kind: 'refused'; readonly text: string }
  /** A connection was lost; the next attempt follows after the delay. */
  | {
      readonly kind: 'reconnect'
      readonly socket: number
      readonly reason: string
      readonly delayMs: number
    }
  /** The venue answered 429: no request for this time. */
  | { readonly kind: 'paused'; readonly pauseMs: number }
  /** A request failed; it will be repeated. */
  | { readonly kind: 'request-failed'; readonly request: string; readonly reason: string }

export type OnFeedEvent = (event: FeedEvent) => void
