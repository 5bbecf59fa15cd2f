import type { Memory } from '../../../domain/history.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'

/**
 * Everything that the feed's events depend on, in the order in which it happened: the feed is a
 * function of its arrivals and their times. That is what a recording keeps and a replay repeats.
 */
export type Arrival =
  /** One text frame. */
  | { readonly kind: 'frame'; readonly socket: number; readonly text: string }
  /** We asked the venue whether it is there; its pong comes as a frame. */
  | { readonly kind: 'ping'; readonly socket: number }
  /** A connection ended, and with it the subscriptions of these coins. */
  | {
      readonly kind: 'lost'
      readonly socket: number
      readonly reason: string
      readonly coins: readonly string[]
    }
  /** The reply to `meta` or `metaAndAssetCtxs`, of one dex; '' is the venue's own. */
  | {
      readonly kind: 'universe'
      readonly request: 'meta' | 'metaAndAssetCtxs'
      readonly dex: string
      readonly body: string
    }
  /** A dex is not followed any more. */
  | { readonly kind: 'dex-dropped'; readonly dex: string }
  /** The reply to `candleSnapshot`, asked at `askedMs`. */
  | {
      readonly kind: 'history'
      readonly coin: string
      readonly timeframe: Timeframe
      readonly fromMs: number
      readonly askedMs: number
      readonly body: string
    }
  /** The reply to `candleSnapshot` of 1h bars, for whoever needs a month of them. */
  | {
      readonly kind: 'hours'
      readonly coin: string
      readonly fromMs: number
      readonly askedMs: number
      readonly body: string
    }
  /** The reply to `fundingHistory`. */
  | {
      readonly kind: 'fundings'
      readonly coin: string
      readonly fromMs: number
      readonly askedMs: number
      readonly body: string
    }
  /** The reply to `predictedFundings`. */
  | { readonly kind: 'predictions'; readonly askedMs: number; readonly body: string }
  /** The reply to `spotMetaAndAssetCtxs`. */
  | { readonly kind: 'spot'; readonly askedMs: number; readonly body: string }
  /** What our own history has of a coin, read when the feed began. */
  | { readonly kind: 'remembered'; readonly memory: Memory }
  /** The reply to `clearinghouseState` of one account, its address in lower case. */
  | {
      readonly kind: 'account'
      readonly account: string
      readonly askedMs: number
      readonly body: string
    }
  /** A second passed: silence, too, is something that arrives. */
  | { readonly kind: 'tick' }
