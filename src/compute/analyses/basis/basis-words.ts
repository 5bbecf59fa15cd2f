import type { BasisReading } from '../../outside/basis-reading.ts'
import { bps } from '../../render/significance.ts'

/** Farther apart, the two prices are not of one moment. */
export const SKEW_MS_MAX = 5_000
const SIGNIFICANT_BPS = 1
const ALIGNED_BPS = 5
const MILD_BPS = 10
const CONTRARIAN_BPS = 50
const [STRETCHED_Z, DISLOCATED_Z] = [2, 4]

type Judged = Pick<BasisReading, 'basisBps' | 'band'>

export function directionOf({ basisBps, band: { totalBps } }: Judged) {
  const away = Math.abs(basisBps)
  const isAligned = away <= Math.max(ALIGNED_BPS, totalBps)
  const side = basisBps > 0 ? ('venue_premium' as const) : ('venue_discount' as const)
  return {
    significant: away > Math.max(totalBps, SIGNIFICANT_BPS),
    direction: isAligned ? ('aligned' as const) : side,
  }
}

/** A gap within the band is none, however wide the band is. */
export function signalOf(reading: Judged) {
  const { basisBps } = reading
  const away = Math.abs(basisBps)
  if (away < MILD_BPS || !directionOf(reading).significant) return 'neutral'
  if (away > CONTRARIAN_BPS) return basisBps > 0 ? 'bearish_contrarian' : 'bullish_contrarian'
  return basisBps > 0 ? 'mildly_bullish' : 'mildly_bearish'
}

/** @param zscore in robust deviations of the day; NaN for unknown */
export function regimeOf(reading: Judged, zscore: number) {
  if (!directionOf(reading).significant) return 'normal'
  const isFar = Math.abs(reading.basisBps) > CONTRARIAN_BPS
  if (isFar || Math.abs(zscore) > DISLOCATED_Z) return 'dislocated'
  return Math.abs(zscore) > STRETCHED_Z ? 'stretched' : 'normal'
}

export function interpretationOf(coin: string, reading: BasisReading): string {
  const { basisBps, premiumBps, band, oracle } = reading
  const { significant, direction } = directionOf(reading)
  const stands = direction === 'aligned' ? ', aligned with it' : ''
  return (
    `The venue's oracle of ${coin} stands ${beside(basisBps)} ${oracle.network}${stands},` +
    ` ${significant ? 'beyond' : 'within'} the ${bps(band.totalBps)} bps that can be known;` +
    ` the perpetual trades ${beside(premiumBps)} the venue's oracle.`
  )
}

function beside(valueBps: number): string {
  return `${bps(Math.abs(valueBps))} bps ${valueBps < 0 ? 'below' : 'above'}`
}

export function notesOf(reading: BasisReading): string[] {
  const { oracle, choice, skewMs, usdt } = reading
  const notes: string[] = []
  if (directionOf(reading).significant)
    notes.push('Both sides follow the same exchanges: a lasting gap is a fault of data first.')
  if (oracle.resolutionBps > 0)
    notes.push(
      `${oracle.network} publishes on moves of ${bps(oracle.resolutionBps)} bps: less than that is not observable.`,
    )
  if (choice.weakness === 'late') notes.push(`${oracle.network} is late and nobody stands in.`)
  if (choice.weakness === 'wide_confidence')
    notes.push(`${oracle.network} is unusually unsure and nobody stands in.`)
  if (skewMs > SKEW_MS_MAX) notes.push('The two prices are more than 5 s apart.')
  if (usdt === null) notes.push('The price of USDT is unknown: no correction for it.')
  return notes
}
