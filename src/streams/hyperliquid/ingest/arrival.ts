import type { FillsWindow } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'

/** An input of the feed. Events are a function of the arrivals and their times; a recording keeps all of them. */
export type Arrival =
  /** A text frame. */
  | { readonly kind: 'frame'; readonly socket: number; readonly text: string }
  /** A ping was sent; its pong arrives as a frame. */
  | { readonly kind: 'ping'; readonly socket: number }
  /** A connection ended, with the subscriptions of these coins. */
  | {
      readonly kind: 'lost'
      readonly socket: number
      readonly reason: string
      readonly coins: readonly string[]
    }
  /** The reply to `meta` or `metaAndAssetCtxs` of one dex; '' is the main dex. */
  | {
      readonly kind: 'universe'
      readonly request: 'meta' | 'metaAndAssetCtxs'
      readonly dex: string
      readonly body: string
    }
  /** A dex is no longer followed. */
  | { readonly kind: 'dex-dropped'; readonly dex: string }
  /** The reply to `candleSnapshot`, requested at `askedMs`. */
  | {
      readonly kind: 'history'
      readonly coin: string
      readonly timeframe: Timeframe
      readonly fromMs: number
      readonly askedMs: number
      readonly body: string
    }
  /** The reply to `candleSnapshot` of a month of 1h bars. */
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
  /** One series of a coin from the local history. */
  | { readonly kind: 'remembered'; readonly memory: Memory }
  /** The reply to `clearinghouseState` of one account, address in lower case. */
  | {
      readonly kind: 'account'
      readonly account: string
      readonly askedMs: number
      readonly body: string
    }
  /** The reply to `userFillsByTime` of one account, address in lower case. */
  | (FillsWindow & {
      readonly kind: 'fills'
      readonly askedMs: number
      readonly body: string
    })
  /** The liquidator vaults of the venue are these accounts, addresses in lower case. */
  | { readonly kind: 'vaults'; readonly accounts: readonly string[] }
  /** A second passed: the absence of data is an input too. */
  | { readonly kind: 'tick' }

export type ArrivalOf<Kind extends Arrival['kind']> = Extract<Arrival, { kind: Kind }>
