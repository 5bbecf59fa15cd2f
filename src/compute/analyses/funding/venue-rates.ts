import type { VenueFunding, VenueFundingsEvent } from '../../../domain/event.ts'
import { annualizedPctOf, FUNDING_INTERVAL_HOURS } from '../../funding/funding-tilt.ts'
import { percent, rate } from '../../render/significance.ts'

/** This venue's name in its own list of exchanges. */
const OWN_NAME = 'HlPerp'
/** Older rates of other exchanges are not shown. */
const FUNDINGS_AGE_MS_MAX = 3_600_000

export type VenueRate = VenueFunding & {
  /** Time of the venue's message, by its clock. */
  readonly asOfMs: number
}

/** Long on one exchange and short on another, to receive the difference of their rates. */
type VenueSpread = {
  readonly longOn: string
  readonly shortOn: string
  /** Yearly income of both positions, before fees. */
  readonly annualizedPct: number
}

/** Predicted rates of other exchanges, without those whose interval is over. */
export function otherVenueRates(event: VenueFundingsEvent | null, atMs: number): VenueRate[] {
  if (event === null || atMs - event.timeExchangeMs > FUNDINGS_AGE_MS_MAX) return []
  return event.fundings
    .filter(({ venue, nextFundingMs }) => venue !== OWN_NAME && nextFundingMs > atMs)
    .map((funding) => ({ ...funding, asOfMs: event.timeExchangeMs }))
}

/** Percent a year, as printed: from the rounded rate, so that the published identity holds exactly. */
export function shownAnnualizedPct(exactRate: number, intervalHours: number): number {
  return percent(annualizedPctOf(rate(exactRate), intervalHours))
}

/** Long at the lowest rate, short at the highest, as printed; null without another exchange. */
export function widestSpread(
  others: readonly VenueRate[],
  ownRateHourly: number,
): VenueSpread | null {
  if (others.length === 0) return null
  const all = [
    {
      venue: OWN_NAME,
      annualizedPct: shownAnnualizedPct(ownRateHourly, FUNDING_INTERVAL_HOURS),
    },
    ...others.map(({ venue, rate: raw, intervalHours }) => ({
      venue,
      annualizedPct: shownAnnualizedPct(raw, intervalHours),
    })),
  ].toSorted((one, other) => one.annualizedPct - other.annualizedPct)
  const [lowest, highest] = [all.at(0), all.at(-1)]
  if (lowest === undefined || highest === undefined) return null
  return {
    longOn: lowest.venue,
    shortOn: highest.venue,
    annualizedPct: percent(highest.annualizedPct - lowest.annualizedPct),
  }
}
