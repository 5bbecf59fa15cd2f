import type { Bar } from '../../../domain/bar.ts'
import { barFault } from '../../../domain/bar.ts'
import { parsedJson } from '../../../domain/json.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs, timeframes } from '../../../domain/timeframe.ts'
import {
  amount,
  coin as coinName,
  ignored,
  pastTime,
  priceField,
  wordField,
} from './field-types.ts'
import type { Drop, DropReason, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { Row } from './row-fields.ts'
import { RowFields } from './row-fields.ts'
import { isVenueObject } from './values.ts'

type BarsReply = {
  readonly kind: 'bars'
  /** Ascending, without gaps. */
  readonly bars: readonly Bar[]
  readonly drops: readonly Drop[]
}

const interval = wordField(
  Object.fromEntries(timeframes.map((name) => [name, name])),
  'unknown_interval',
)

/** A `candle` frame and a row of `candleSnapshot`. The end of a bar (`T`) is in the future. */
export const candleFields = {
  t: pastTime,
  T: ignored,
  s: coinName,
  i: interval,
  o: priceField,
  c: priceField,
  h: priceField,
  l: priceField,
  v: amount('bad_size'),
} as const

const snapshotFields = new RowFields(candleFields)

/** @returns the reason for a bar whose values contradict each other */
export function barOfRow(
  row: Row,
  at: Readonly<Record<keyof typeof candleFields, number>>,
  timeframe: Timeframe,
): Bar | DropReason {
  const bar = {
    openTimeMs: row.number(at.t),
    open: row.number(at.o),
    high: row.number(at.h),
    low: row.number(at.l),
    close: row.number(at.c),
    volumeBase: row.number(at.v),
  }
  if (bar.openTimeMs % timeframeMs[timeframe] !== 0) return 'bad_time'
  return barFault(bar) ?? bar
}

/**
 * The reply to `candleSnapshot`. The venue may lack a bar without trades for a while, so a gap is filled with flat bars at
 * the previous close. An unreadable row had trades; it rejects the reply.
 */
export function decodeCandleSnapshot(
  body: string,
  series: { readonly coin: string; readonly timeframe: Timeframe; readonly fromMs: number },
  timeReceivedMs: number,
): BarsReply | Rejected {
  const { coin, timeframe, fromMs } = series
  const rows = parsedJson(body)
  if (rows === undefined) return rejected('not_json')
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const stepMs = timeframeMs[timeframe]
  const drops: Drop[] = []
  const bars: Bar[] = []
  const scope = { coins: new Map([[coin, coin]]), timeReceivedMs }
  for (const value of rows) {
    if (!isVenueObject(value) || value.i !== timeframe) return rejected('bad_rows')
    const row = snapshotFields.parse(value, scope, drops, coin)
    const bar = row === null ? 'bad_bar' : barOfRow(row, snapshotFields.at, timeframe)
    if (typeof bar === 'string') return rejected('bad_rows')
    const previous = bars.at(-1)
    // Bars before the requested time are dropped, so the request bounds their number.
    if (bar.openTimeMs <= fromMs - stepMs || (previous && bar.openTimeMs <= previous.openTimeMs)) {
      drops.push(drop('bad_time', 't', coin))
      continue
    }
    if (previous) appendFlat(bars, previous, bar.openTimeMs, stepMs)
    bars.push(bar)
  }
  return { kind: 'bars', bars, drops }
}

function appendFlat(
  bars: Bar[],
  { openTimeMs, close }: Bar,
  untilMs: number,
  stepMs: number,
): void {
  for (let timeMs = openTimeMs + stepMs; timeMs < untilMs; timeMs += stepMs) {
    bars.push({ openTimeMs: timeMs, open: close, high: close, low: close, close, volumeBase: 0 })
  }
}
