import { pulseRows } from '../compute/indicators/pulse-rows.ts'
import type { IndicatorsOptions } from '../config/indicators.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import type { CandleGap } from '../store/candle-file.ts'
import { barEnd, candleGaps, readCandleFile } from '../store/candle-file.ts'

const GAPS_SHOWN_MAX = 10

/**
 * `perpscope indicators FILE`: the pulse indicators of a candle file, one JSON object a closed bar.
 * @throws OperatingError for a file that is none or has no closed candle, for times in the future, and for gaps that are
 * to be refused
 */
export function printIndicators(
  path: string,
  { gaps: how }: IndicatorsOptions,
  {
    write,
    warn,
  }: { readonly write: (text: string) => void; readonly warn: (text: string) => void },
  nowMs: number,
): void {
  const all = readCandleFile(path)
  const endMs = barEnd(all)
  // The newest candle of a snapshot has not ended.
  const bars = all.filter(({ openTimeMs }) => endMs(openTimeMs) <= nowMs)
  const future = all.filter(({ openTimeMs }) => openTimeMs > nowMs).length
  // Clocks differ, so the forming bar may seem to open a moment from now.
  if (future > 1)
    throw new OperatingError(
      'candle_file',
      `${path}: ${future} bars are in the future: check the unit of the time column and the clock of this machine`,
    )
  if (bars.length === 0)
    throw new OperatingError('candle_file', `${path}: there is no closed candle in it`)
  if (bars.length < all.length)
    warn(`perpscope: ${path}: the last bar is still forming and is left out\n`)
  const gaps = candleGaps(bars)
  if (gaps.length > 0) {
    if (how === 'refuse') throw new OperatingError('candle_gaps', `${path}: ${described(gaps)}`)
    warn(
      `perpscope: ${path}: ${described(gaps)}\n` +
        'The indicators are computed as if these bars were consecutive. --gaps refuse fails instead.\n',
    )
  }
  for (const row of pulseRows(bars)) write(`${JSON.stringify(row)}\n`)
}

function described(gaps: readonly CandleGap[]): string {
  const missing = gaps.reduce((sum, gap) => sum + gap.missing, 0)
  const lines = gaps
    .slice(0, GAPS_SHOWN_MAX)
    .map(
      (gap) =>
        `  ${isoInstant(gap.afterMs)} to ${isoInstant(gap.untilMs)}: ` +
        (gap.missing === 0 ? 'bars overlap' : `${gap.missing} missing`),
    )
  const rest = gaps.length - lines.length
  if (rest > 0) lines.push(`  and ${rest} more`)
  return [`bars are not consecutive (missing: ${missing}, places: ${gaps.length}):`, ...lines].join(
    '\n',
  )
}
