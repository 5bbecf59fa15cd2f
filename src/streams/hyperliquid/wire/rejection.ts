/** Why a value was dropped from an otherwise valid frame or reply. Metric labels: they do not change. */
export type DropReason =
  | 'bad_row'
  | 'bad_price'
  | 'bad_size'
  | 'bad_number'
  /** The value is valid alone and contradicts earlier values of the coin. */
  | 'doubtful_figure'
  /** A row without a name whose coin no named price confirms. */
  | 'unconfirmed_row'
  | 'bad_time'
  | 'bad_side'
  | 'bad_trade_id'
  | 'bad_bar'
  | 'bad_book'
  | 'bad_listing'
  | 'bad_margin_table'
  | 'unknown_coin'
  | 'unknown_interval'
  | 'other_series'
  /** The rows of one dex do not match its universe in number. */
  | 'context_length'

export type Drop = {
  readonly reason: DropReason
  /** The member of the venue's JSON that is invalid. */
  readonly field: string
  /** null if the row names no listed coin. */
  readonly coin: string | null
}

export function drop(reason: DropReason, field: string, coin: string | null = null): Drop {
  return { reason, field, coin }
}

/** Why a frame or reply was rejected as a whole. Metric labels: they do not change. */
export type RejectReason =
  | 'not_json'
  | 'bad_shape'
  /** A series with an unreadable row, which is useless with a hole. */
  | 'bad_rows'
  | 'bad_compression'
  | 'unknown_channel'
  | 'universe_length'
  /** The universe lacks known coins; it needs more equal replies. */
  | 'universe_changed'
  /** Rows carry no names and match no universe in number. */
  | 'context_length'

export type Rejected = { readonly kind: 'rejected'; readonly reason: RejectReason }

export function rejected(reason: RejectReason): Rejected {
  return { kind: 'rejected', reason }
}
