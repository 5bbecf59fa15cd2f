import type { Batch, MarkEvent } from '../../../domain/event.ts'
import type { Drop, Rejected } from './rejection.ts'
import type { MarketChannel } from './subscription.ts'

/** The content of one text frame of the venue. */
export type Frame =
  | {
      readonly kind: 'events'
      readonly events: Batch
      readonly drops: readonly Drop[]
      /** Set if one frame covers all coins. */
      readonly channel?: MarketChannel
      /** Coins with an unreadable row of a channel that sends each row once. */
      readonly lost?: readonly string[]
      /** Dexes whose rows do not match their universe in number. */
      readonly mismatched?: readonly string[]
      /** Perpetuals of followed dexes that no universe lists. */
      readonly unlisted?: readonly MarkEvent[]
    }
  /** The venue accepted a subscription; its data follow. */
  | ({ readonly kind: 'acknowledged' } & Subscribed)
  /** The venue already had the subscription: its acknowledgement was lost, and no snapshot follows. */
  | ({ readonly kind: 'already-subscribed' } & Subscribed)
  /** The venue refused a message of the client; the connection stays open. */
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'pong' }
  | { readonly kind: 'ignored' }
  | Rejected

type Subscribed = { readonly channel: string; readonly coin: string | null }
