import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'
import { oracleHandoverMs } from './oracle-age.ts'
import type { JudgedReading, OracleDemotion, OracleEvidence } from './oracle-faults.ts'
import { judgeReadings } from './oracle-faults.ts'
import type { OracleReading } from './oracle-reading.ts'
import { oracleReadings } from './oracle-reading.ts'

export type OracleChoice = {
  /** null where no network has a usable price. */
  readonly best: OracleReading | null
  /** Fault of the best one, `late` or `wide_confidence`, where no other can replace it. */
  readonly weakness: OracleDemotion | null
  readonly demoted: readonly { readonly network: OracleNetwork; readonly reason: OracleDemotion }[]
  /** Readings without a fault, including the best. */
  readonly fit: readonly OracleReading[]
  /** The price of every network, in a fixed order, with a fault or not. */
  readonly readings: readonly OracleReading[]
}

/** Expected errors of comparable networks differ by at most this factor. */
const COMPARABLE_TIMES = 2

/**
 * Chooses the network with the smallest expected error of those without a fault, then of those in probation, then of
 * those that are late or unsure. One that is about to be too old comes last.
 */
export function chooseOracle(
  feeds: readonly OraclePriceEvent[],
  evidence: OracleEvidence,
): OracleChoice {
  const readings = oracleReadings(feeds, evidence)
  const judged = judgeReadings(readings, evidence)
  const fit = judged.filter(({ reason }) => reason === null)
  const weak = judged.filter(isWeak)
  const best =
    nearest(fit) ??
    nearest(judged.filter(({ reason }) => reason === 'probation')) ??
    nearest(weak.filter(({ reading }) => reading.ageMs <= oracleHandoverMs(reading))) ??
    nearest(weak)
  return {
    best: best?.reading ?? null,
    weakness: best !== undefined && isWeak(best) ? best.reason : null,
    demoted: judged
      .filter((one) => one !== best)
      .map(({ reading, reason }) => ({
        network: reading.network,
        reason: reason ?? 'larger_error',
      })),
    fit: fit.map(({ reading }) => reading),
    readings,
  }
}

/** The best reading, and those whose expected error is at most twice as large: each may be the next best. */
export function comparableOracles({ best, fit }: OracleChoice): readonly OracleReading[] {
  if (best === null) return []
  const limitBps = COMPARABLE_TIMES * best.expectedErrorBps
  return [best, ...fit.filter((one) => one !== best && one.expectedErrorBps <= limitBps)]
}

/** Networks that have a fault now, without regard to their past. */
export function unfitNow(
  feeds: readonly OraclePriceEvent[],
  evidence: Omit<OracleEvidence, 'unfitAtMs'>,
): readonly OracleNetwork[] {
  const unfitAtMs = () => Number.NaN
  const judged = judgeReadings(oracleReadings(feeds, evidence), { ...evidence, unfitAtMs })
  return judged.flatMap(({ reading, reason }) => (reason === null ? [] : [reading.network]))
}

function nearest(judged: readonly JudgedReading[]): JudgedReading | undefined {
  return judged.toSorted((a, b) => a.reading.expectedErrorBps - b.reading.expectedErrorBps)[0]
}

function isWeak({ reason }: JudgedReading): boolean {
  return reason === 'late' || reason === 'wide_confidence'
}
