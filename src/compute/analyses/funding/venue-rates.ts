import type { VenueFunding, VenueFundingsEvent } from '../../../domain/event.ts'

/** How the venue calls itself among the others. */
const OWN_NAME = 'HlPerp'
/** Rates of elsewhere that nobody renewed for so long are no comparison any more. */
const TOLD_AGE_MS_MAX = 3_600_000

export type VenueRate = VenueFunding & {
  /** By the venue's clock. */
  readonly toldAtMs: number
}

/** A position on each of two exchanges that are paid and pay at different rates. */
type VenueSpread = {
  readonly longOn: string
  readonly shortOn: string
  /** Received an hour by the short less paid by the long, as a fraction, before fees. */
  readonly rateHourly: number
}

/** What other exchanges charge next; without those whose interval is over, because that rate was another's. */
export function otherVenueRates(told: VenueFundingsEvent | null, atMs: number): VenueRate[] {
  if (told === null || atMs - told.timeExchangeMs > TOLD_AGE_MS_MAX) return []
  return told.fundings
    .filter(({ venue, nextFundingMs }) => venue !== OWN_NAME && nextFundingMs > atMs)
    .map((funding) => ({ ...funding, toldAtMs: told.timeExchangeMs }))
}

/** Long where the rate is lowest, short where it is highest; null without another exchange. */
export function widestSpread(
  others: readonly VenueRate[],
  ownRateHourly: number,
): VenueSpread | null {
  if (others.length === 0) return null
  const all = [
    { venue: OWN_NAME, rateHourly: ownRateHourly },
    ...others.map(({ venue, rate, intervalHours }) => ({
      venue,
      rateHourly: rate / intervalHours,
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
