import type { CellKey } from './cell.ts'
import type { RecordStatus } from './status.ts'

/**
 * RecordFigures of a rule on recorded data, measured before this version was published by `perpscope track-record`. They stand
 * in answers while the live record is `measuring`, and are never added to it.
 */
export type Baseline = CellKey & {
  readonly status: RecordStatus
  readonly effective: number
  readonly rate: number
  readonly lift: number
  readonly liftLow: number
  readonly liftHigh: number
  readonly skill: number
  /** First and last day of the data, UTC, ISO 8601. */
  readonly fromIso: string
  readonly untilIso: string
  /** Recorded data, in words. */
  readonly source: string
}

export const baselines: readonly Baseline[] = []
