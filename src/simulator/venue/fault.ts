import type { NewListing } from '../market/market.ts'

/** Channels that speak of one coin. */
export const coinChannels = ['trades', 'bbo', 'l2Book', 'candle', 'activeAssetCtx'] as const

export type CoinChannel = (typeof coinChannels)[number]

/**
 * Something that goes wrong at the venue or on the way to it, from now on for `durationMs`. Faults that
 * overlap combine, and one that has ended leaves no trace. Random choices are drawn from a fixed key, so that
 * the same faults at the same instants of the same session have the same effects.
 */
export type VenueFault =
  /** Every open connection ends, once. */
  | ({
      readonly kind: 'drop-connections'
      /** 1006 if absent. */
      readonly code?: CloseCode
    } & OneConnection)
  /** The 1006 storm: every connection, open or new, ends within a second. */
  | { readonly kind: 'refuse-connections'; readonly durationMs: number }
  /**
   * Connections that are open now stay open, but nothing passes in either direction, no pong and no
   * close; frames of that time are lost. At the end they are reset, which the client sees as 1006. New
   * connections work.
   */
  | ({ readonly kind: 'half-open'; readonly durationMs: number } & OneConnection)
  /**
   * No new subscription is granted: the venue does not reply, or calls it invalid. Existing subscriptions
   * continue.
   */
  | {
      readonly kind: 'refuse-subscriptions'
      readonly how: 'silent' | 'error'
      readonly durationMs: number
    }
  /**
   * One coin has no data on its own channels, or on some of them. The socket stays open, subscriptions are
   * acknowledged, channels of all coins continue. The frames of that time are lost.
   */
  | {
      readonly kind: 'stall'
      readonly coin: string
      readonly durationMs: number
      /** All channels if absent. */
      readonly channels?: readonly CoinChannel[]
    }
  /** A share of the frames with data is lost, comes twice, after the next one of its subscription, or broken. */
  | {
      readonly kind: 'drop-frames' | 'duplicate-frames' | 'reorder-frames' | 'garble-frames'
      /** 0 to 1. */
      readonly share: number
      readonly durationMs: number
    }
  /**
   * Every frame, pongs too, arrives this much later, in order and with the venue's next block. At the end
   * all delayed frames arrive together.
   */
  | ({
      readonly kind: 'delay-frames'
      readonly delayMs: number
      readonly durationMs: number
    } & OneConnection)
  /** Every request is over the limit, posts over the websocket too. */
  | { readonly kind: 'rest-429'; readonly durationMs: number }
  /**
   * Every request over HTTP fails: HTTP 500, no answer, or HTTP 200 with a broken body. A request that hangs is never answered, not even when the fault is over.
   */
  | {
      readonly kind: 'rest-outage'
      readonly durationMs: number
      readonly how: '500' | 'hang' | 'garbage'
    }
  /** `candleSnapshot` ends with the newest bar that was traded: bars without trades after it come later. */
  | { readonly kind: 'late-flat-bars'; readonly durationMs: number }
  /** A coin is appended to the universe; its first bar is the quarter that is open now. */
  | { readonly kind: 'list'; readonly listing: NewListing }
  /** A coin stays in the universe, but no longer trades. */
  | { readonly kind: 'delist'; readonly coin: string }
  /** A coin goes to the end of the universe and those behind it move up, which the venue's documentation rules out. */
  | { readonly kind: 'relist'; readonly coin: string }
  /**
   * The venue's own clock is off: the times of books, best prices and `exchangeStatus`, which it stamps
   * as it sends. Trades, bars and funding rows keep the time that they were recorded with.
   */
  | { readonly kind: 'clock-skew'; readonly offsetMs: number; readonly durationMs: number }

/** How a connection ends: 1000 with a closing handshake, 1006 without one. */
export const closeCodes = [1000, 1006] as const

export type CloseCode = (typeof closeCodes)[number]

/** A fault of one connection only, for example of its network path. */
type OneConnection = {
  /**
   * Which of those that are open when it begins, the oldest is 0; beyond the last it is counted on from
   * the oldest. All of them where absent, and those opened later.
   */
  readonly connection?: number
}

/** A fault with a duration. */
export type LastingFault = Extract<VenueFault, { readonly durationMs: number }>

/** A fault of the frames that carry data. */
export type FrameFaultKind = 'drop-frames' | 'duplicate-frames' | 'reorder-frames' | 'garble-frames'
