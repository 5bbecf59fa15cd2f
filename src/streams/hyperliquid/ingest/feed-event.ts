import type { SilentChannel } from '../../../domain/event.ts'
import type { MarketChannel } from '../wire/subscription.ts'
import type { DropReason, RejectReason } from '../wire/values.ts'

/** What an operator may want counted or logged. It changes nothing in the data. */
export type FeedEvent =
  /** A whole frame gave nothing. */
  | { readonly kind: 'frame-rejected'; readonly reason: RejectReason }
  /** One value of a good frame or reply was left out. */
  | { readonly kind: 'value-dropped'; readonly reason: DropReason }
  /** After an interruption the venue's replay reached back to what was known. */
  | {
      readonly kind: 'trades-bridged'
      readonly coin: string
      readonly repeated: number
      readonly fresh: number
    }
  /** One coin is silent on a connection that lives; it was subscribed anew. */
  | {
      readonly kind: 'coin-silent'
      readonly coin: string
      readonly channel: SilentChannel
      readonly times: number
    }
  /** What tells of all coins is silent on a connection that lives; it was subscribed anew. */
  | { readonly kind: 'channel-silent'; readonly socket: number; readonly channel: MarketChannel }
  /** The venue dropped a connection right after these coins were subscribed. */
  | { readonly kind: 'quarantined'; readonly coins: readonly string[] }
  /** A quarantined coin was tried alone: the venue took it, or dropped the connection again. */
  | { readonly kind: 'probed'; readonly coin: string; readonly isAccepted: boolean }
  /** So many coins are not followed, because the venue grants no more subscriptions. */
  | { readonly kind: 'left-out'; readonly count: number }
  /** Subscriptions that the venue did not acknowledge were sent again. */
  | { readonly kind: 'unacknowledged'; readonly socket: number; readonly count: number }
  /** The venue complained about something that we sent. */
  | { readonly kind: 'refused'; readonly text: string }
  /** A socket was lost and is opened again after the delay. */
  | {
      readonly kind: 'reconnect'
      readonly socket: number
      readonly reason: string
      readonly delayMs: number
    }
  /** The venue answered 429: no request is made for so long. */
  | { readonly kind: 'paused'; readonly pauseMs: number }
  /** A request failed and will be made again later. */
  | { readonly kind: 'request-failed'; readonly request: string; readonly reason: string }

export type OnFeedEvent = (notice: FeedEvent) => void
