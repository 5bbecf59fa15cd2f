import type { VenueFunding, VenueFundingsEvent } from '../../../domain/event.ts'
import { rate } from '../../render/significance.ts'

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
  /** Hourly income of both positions, as a fraction, before fees. */
  readonly rateHourly: number
}

/** Predicted rates of other exchanges, without those whose interval is over. */
export function otherVenueRates(event: VenueFundingsEvent | null, atMs: number): VenueRate[] {
  if (event === null || atMs - event.timeExchangeMs > FUNDINGS_AGE_MS_MAX) return []
  return event.fundings
    .filter(({ venue, nextFundingMs }) => venue !== OWN_NAME && nextFundingMs > atMs)
    .map((funding) => ({ ...funding, asOfMs: event.timeExchangeMs }))
}

/** Long at the lowest rate, short at the highest; null without another exchange. */
export function widestSpread(
  others: readonly VenueRate[],
  ownRateHourly: number,
): VenueSpread | null {
  if (others.length === 0) return null
  const all = [
    // As printed.
    { venue: OWN_NAME, rateHourly: rate(ownRateHourly) },
    ...others.map(({ venue, rate: raw, intervalHours }) => ({
      venue,
      rateHourly: rate(raw / intervalHours),
    })),
  ].toSorted((one, other) => one.rateHourly - other.rateHourly)
  const [lowest, highest] = [all.at(0), all.at(-1)]
  if (lowest === undefined || highest === undefined) return null
  return {
    longOn: lowest.venue,
    shortOn: highest.venue,
    rateHourly: highest.rateHourly - lowest.rateHourly,
  }
}
