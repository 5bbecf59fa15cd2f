import type { Bar } from '../../../domain/bar.ts'
import { barFault } from '../../../domain/bar.ts'
import type { Timeframe } from '../../../domain/timeframe.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { DropReason, Rejected, VenueObject } from './values.ts'
import { amount, isVenueObject, price, rejected, timeMs } from './values.ts'

type Series = { readonly coin: string; readonly timeframe: Timeframe }

type BarsReply = {
  readonly kind: 'bars'
  /** Ascending, without holes. */
  readonly bars: readonly Bar[]
  readonly drops: readonly DropReason[]
}

/**
 * The reply to `candleSnapshot`. The venue may still lack a bar in which nobody traded, so a hole is
 * closed with a flat bar at the close before it; the venue's own row says the same once it appears.
 * A row that cannot be read is no such hole: it was traded, and nobody knows how.
 */
export function decodeCandleSnapshot(
  body: string,
  { coin, timeframe, fromMs }: Series & { readonly fromMs: number },
  timeReceivedMs: number,
): BarsReply | Rejected {
  let rows: unknown
  try {
    rows = JSON.parse(body)
  } catch {
    return rejected('not_json')
  }
  if (!Array.isArray(rows)) return rejected('bad_shape')
  const stepMs = timeframeMs[timeframe]
  const drops: DropReason[] = []
  const bars: Bar[] = []
  for (const row of rows) {
    if (!isVenueObject(row) || row.s !== coin || row.i !== timeframe) return rejected('bad_rows')
    const bar = decodeBar(row, timeframe, timeReceivedMs, drops)
    if (bar === undefined) return rejected('bad_rows')
    const previous = bars.at(-1)
    // Nothing before what was asked for, so that the number of bars is bounded by the request.
    if (bar.openTimeMs <= fromMs - stepMs || (previous && bar.openTimeMs <= previous.openTimeMs)) {
      drops.push('bad_time')
      continue
    }
    if (previous) appendFlat(bars, previous, bar.openTimeMs, stepMs)
    bars.push(bar)
  }
  return { kind: 'bars', bars, drops }
}

/** @returns undefined, with the reason in `drops`, for a bar that cannot be. */
export function decodeBar(
  row: VenueObject,
  timeframe: Timeframe,
  timeReceivedMs: number,
  drops: DropReason[],
): Bar | undefined {
  const openTimeMs = timeMs(row.t, timeReceivedMs)
  if (openTimeMs === undefined) {
    drops.push('bad_time')
    return undefined
  }
  const open = price(row.o)
  const high = price(row.h)
  const low = price(row.l)
  const close = price(row.c)
  if (open === undefined || high === undefined || low === undefined || close === undefined) {
    drops.push('bad_price')
    return undefined
  }
  const volumeBase = amount(row.v)
  if (volumeBase === undefined) {
    drops.push('bad_size')
    return undefined
  }
  const bar = checkedBar({ openTimeMs, open, high, low, close, volumeBase }, timeframe)
  if (typeof bar !== 'string') return bar
  drops.push(bar)
  return undefined
}

/** @returns the bar, or why its figures cannot be those of one. */
export function checkedBar(bar: Bar, timeframe: Timeframe): Bar | DropReason {
  if (bar.openTimeMs % timeframeMs[timeframe] !== 0) return 'bad_time'
  return barFault(bar) ?? bar
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
