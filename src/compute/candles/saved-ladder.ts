import type { Bar } from '../../domain/bar.ts'
import { timeframes } from '../../domain/timeframe.ts'
import { STATE_LENGTH } from '../indicators/pulse-layout.ts'
import { AGGREGATE_FIELDS } from './bar-aggregate.ts'

/** Closed 15m bars that are kept for comparison with the venue's history. */
export const AUDITED_BARS_MAX = 8

const barFields = ['openTimeMs', 'open', 'high', 'low', 'close', 'volumeBase'] as const
const BAR_FIELDS = barFields.length
const RECENT_AT = 12
const AGGREGATES_AT = RECENT_AT + AUDITED_BARS_MAX * BAR_FIELDS
const SERIES_AT = AGGREGATES_AT + 2 * AGGREGATE_FIELDS

/** Positions of a ladder's state in the numbers of a checkpoint. */
export const savedLadder = {
  nextOpenMs: 0,
  lastOpenMs: { '1h': 1, '4h': 2 },
  openBar: 3,
  isWhole: { '15m': 9, '1h': 10, '4h': 11 },
  aggregate: { '1h': AGGREGATES_AT, '4h': AGGREGATES_AT + AGGREGATE_FIELDS },
  series: { '15m': SERIES_AT, '1h': SERIES_AT + STATE_LENGTH, '4h': SERIES_AT + 2 * STATE_LENGTH },
  length: SERIES_AT + timeframes.length * STATE_LENGTH,
} as const

/** Saves up to {@link AUDITED_BARS_MAX} bars, oldest first. */
export function saveRecent(bars: readonly Bar[], saved: Float64Array): void {
  for (let slot = 0; slot < AUDITED_BARS_MAX; slot += 1)
    saveBar(bars[slot] ?? null, saved, RECENT_AT + slot * BAR_FIELDS)
}

export function savedRecent(saved: Float64Array): readonly Bar[] {
  const slots = Array.from({ length: AUDITED_BARS_MAX }, (_, slot) =>
    savedBar(saved, RECENT_AT + slot * BAR_FIELDS),
  )
  return slots.filter((bar) => bar !== null)
}

/** NaN in every field: no bar. */
export function saveBar(bar: Bar | null, saved: Float64Array, at: number): void {
  for (const [field, name] of barFields.entries()) saved[at + field] = bar?.[name] ?? Number.NaN
}

export function savedBar(saved: Float64Array, at: number): Bar | null {
  const [openTimeMs, open, high, low, close, volumeBase] = saved.subarray(at, at + BAR_FIELDS)
  if (Number.isNaN(openTimeMs)) return null
  return { openTimeMs, open, high, low, close, volumeBase } as Bar
}
