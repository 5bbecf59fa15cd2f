import type { Bar } from './bar.ts'
import { OperatingError } from './errors.ts'
import { FUNDING_RATE_HOURLY_MAX } from './funding-rate.ts'
import { isoInstant } from './instant.ts'
import { printable } from './printable.ts'

/** A settled hourly rate, as a fraction. */
export type SettledRate = { readonly timeMs: number; readonly rateHourly: number }

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const RATE_COLUMNS = 't,fundingRate'
/** Unix ms of 2001 to 2100: no number of s or µs of that time is in this range. */
const TIME_MS = { from: 1e12, to: 4.1e12 } as const

/**
 * Recorded bars are computed one after the other, so a hole would move all that follow.
 * @param path for errors
 * @throws OperatingError naming the first bar that does not open one length after the bar before
 */
export function checkConsecutive(bars: readonly Bar[], stepMs: number, path: string): void {
  const firstMs = Math.floor((bars[0]?.openTimeMs ?? 0) / stepMs) * stepMs
  for (const [at, { openTimeMs }] of bars.entries()) {
    const expectedMs = firstMs + at * stepMs
    if (openTimeMs !== expectedMs)
      throw new OperatingError(
        'bars_have_hole',
        `${path}: expected a bar at ${isoInstant(expectedMs)}, found ${isoInstant(openTimeMs)}; bars of ` +
          `${stepMs / MINUTE_MS} min must be consecutive, also where nobody traded`,
      )
  }
}

/**
 * Settlements of one coin from CSV with the columns t and fundingRate. The venue settles some milliseconds after the hour.
 * @param path for errors
 * @returns ascending, by the hour; hours may be missing
 * @throws OperatingError naming the line that is no settlement after the one before
 */
export function settledRates(text: string, path: string): readonly SettledRate[] {
  const [header = '', ...lines] = text.trimEnd().split('\n')
  const refused = (line: number, fault: string) =>
    new OperatingError('settled_funding', `${path}:${line}: ${fault}`)
  if (header.trim() !== RATE_COLUMNS) throw refused(1, `the columns must be ${RATE_COLUMNS}`)
  const rates: SettledRate[] = []
  for (const [at, row] of lines.entries()) {
    const [timeMs = Number.NaN, rateHourly = Number.NaN] = row.split(',').map(cellFigure)
    const fault = rateFault(timeMs, rateHourly)
    if (fault !== null)
      throw refused(at + 2, `not a settlement: ${fault}: ${printable(row.slice(0, 80))}`)
    const hourMs = Math.floor(timeMs / HOUR_MS) * HOUR_MS
    if (hourMs <= (rates.at(-1)?.timeMs ?? 0))
      throw refused(
        at + 2,
        'not later than the settlement before: one an hour, oldest first, is expected',
      )
    rates.push({ timeMs: hourMs, rateHourly })
  }
  return rates
}

function rateFault(timeMs: number, rateHourly: number): string | null {
  if (!(Number.isInteger(timeMs) && timeMs >= TIME_MS.from && timeMs < TIME_MS.to))
    return 't must be Unix ms of 2001 to 2100'
  return Math.abs(rateHourly) <= FUNDING_RATE_HOURLY_MAX
    ? null
    : `fundingRate must be a fraction of at most ${FUNDING_RATE_HOURLY_MAX} an hour`
}

/** Of a CSV cell; NaN for an empty one. */
export function cellFigure(cell: string): number {
  return cell.trim() === '' ? Number.NaN : Number(cell)
}
