import type { DropReason, RejectReason } from './wire.ts'

/** What an operator may want counted or logged. It changes nothing in the data. */
export type FeedNotice =
  /** A whole frame gave nothing. */
  | { readonly kind: 'frame-rejected'; readonly reason: RejectReason }
  /** One value of a good frame or reply was left out. */
  | { readonly kind: 'value-dropped'; readonly reason: DropReason }
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

export type OnNotice = (notice: FeedNotice) => void
