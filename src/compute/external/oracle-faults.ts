import type { OracleNetwork } from '../../domain/external.ts'
import { apartBps, median } from '../statistics/median.ts'
import { isSameAsset } from './exchange-reference.ts'
import { oracleLateMs } from './oracle-age.ts'
import type { OracleReading } from './oracle-reading.ts'
import { triggerOf } from './source-error.ts'

/**
 * Why a network is not used. `probation`: it had a fault less than 30 s ago. `larger_error`: it has no fault, and
 * another network is expected to be nearer.
 */
export type OracleDemotion =
  | 'too_old'
  | 'late'
  | 'wide_confidence'
  | 'outvoted'
  | 'wrong_scale'
  | 'probation'
  | 'larger_error'

/** Evidence besides the feeds. */
export type OracleEvidence = {
  readonly nowMs: number
  /** Price by the venue, to detect a mix-up of assets; NaN where unknown. */
  readonly expectedUsd: number
  /** Mid prices of the exchanges behind their reference; empty without one. Their median has one vote. */
  readonly exchangeMidsUsd: readonly number[]
  /** Standard deviation of the asset's price over one second, bps. */
  readonly driftBps: number
  /** Last time that a network had a fault; NaN for never. */
  readonly unfitAtMs: (network: OracleNetwork) => number
}

/** `reason` is null where the network has no fault. */
export type JudgedReading = {
  readonly reading: OracleReading
  readonly reason: OracleDemotion | null
}

/** A network is used again after this time without a fault. */
export const PROBATION_MS = 30_000
const CONFIDENCE_BPS_MAX = 100
/** A confidence this many times wider than the network's average is unusual, from CONFIDENCE_BPS_NOTABLE on. */
const CONFIDENCE_TIMES_MAX = 4
const CONFIDENCE_BPS_NOTABLE = 20
/** Correct prices of one asset differ by up to this, besides their own uncertainty. */
const DISAGREEMENT_BPS = 25
/** This many exchanges that agree are independent evidence. */
const EXCHANGES_AGREED_MIN = 3

/** Finds the fault of each reading: first by itself, then against the readings without one. */
export function judgeReadings(
  readings: readonly OracleReading[],
  evidence: OracleEvidence,
): readonly JudgedReading[] {
  const alone = readings.map((reading) => ({ reading, reason: faultOf(reading, evidence) }))
  const voters = alone.filter(({ reason }) => reason === null).map(({ reading }) => reading)
  return alone.map(({ reading, reason }) => {
    if (reason !== null) return { reading, reason }
    if (isOutvoted(reading, voters, evidence)) return { reading, reason: 'outvoted' }
    const cleanMs = evidence.nowMs - evidence.unfitAtMs(reading.network)
    return { reading, reason: cleanMs < PROBATION_MS ? 'probation' : null }
  })
}

function faultOf(reading: OracleReading, evidence: OracleEvidence): OracleDemotion | null {
  const { ageMs, ageMsMax, priceUsd, confidenceBps } = reading
  if (!(priceUsd > 0 && priceUsd < Number.POSITIVE_INFINITY)) return 'wrong_scale'
  if (!isSameAsset(priceUsd, evidence.expectedUsd)) return 'wrong_scale'
  if (ageMs > ageMsMax) return 'too_old'
  if (ageMs > oracleLateMs(reading)) return 'late'
  if (confidenceBps === null) return null
  return confidenceBps > confidenceBpsMax(reading.ema) ? 'wide_confidence' : null
}

function confidenceBpsMax(ema: OracleReading['ema']): number {
  if (ema === null || !(ema.priceUsd > 0)) return CONFIDENCE_BPS_MAX
  const usualBps = (ema.confidenceUsd / ema.priceUsd) * 10_000
  const unusualBps = Math.max(CONFIDENCE_BPS_NOTABLE, CONFIDENCE_TIMES_MAX * usualBps)
  return Math.min(CONFIDENCE_BPS_MAX, unusualBps)
}

/**
 * Whether two others agree with each other and not with this one, or more exchanges that agree with each other than
 * networks that agree with it.
 */
function isOutvoted(
  reading: OracleReading,
  voters: readonly OracleReading[],
  { exchangeMidsUsd, driftBps }: OracleEvidence,
): boolean {
  const own = opinionOf(reading, driftBps)
  const others = voters
    .filter((other) => other !== reading)
    .map((other) => opinionOf(other, driftBps))
  const against = others.filter((other) => !doAgree(own, other))
  const networks = 1 + others.length - against.length
  const exchanges = { priceUsd: median(exchangeMidsUsd), bandBps: 0 }
  if (exchangeMidsUsd.length > 0 && !doAgree(own, exchanges)) {
    if (agreeingExchanges(exchangeMidsUsd) > networks) return true
    against.push(exchanges)
  }
  return against.some((one, at) => against.slice(at + 1).some((other) => doAgree(one, other)))
}

type Opinion = { readonly priceUsd: number; readonly bandBps: number }

/** Uncertainty of a reading: its confidence, and a feed's trigger or the price's drift since its publication. */
function opinionOf(reading: OracleReading, driftBps: number): Opinion {
  const { priceUsd, confidenceBps, ageMs } = reading
  const { triggerBps } = triggerOf(reading)
  const sinceBps = triggerBps > 0 ? triggerBps : driftBps * Math.sqrt(ageMs / 1_000)
  return { priceUsd, bandBps: (confidenceBps ?? 0) + sinceBps }
}

/** Number of exchanges near their median; 0 below {@link EXCHANGES_AGREED_MIN}. */
function agreeingExchanges(midsUsd: readonly number[]): number {
  const middleUsd = median(midsUsd)
  const near = midsUsd.filter((midUsd) => apartBps(midUsd, middleUsd) <= DISAGREEMENT_BPS)
  return near.length >= EXCHANGES_AGREED_MIN ? near.length : 0
}

function doAgree(one: Opinion, other: Opinion): boolean {
  const bandBps = DISAGREEMENT_BPS + one.bandBps + other.bandBps
  return apartBps(one.priceUsd, other.priceUsd) <= bandBps
}
