import assert from 'node:assert/strict'
import type { AnalysisContract } from '../../domain/contract.ts'
import type { NoAnswer } from '../../domain/document.ts'

/** How much there is of what a floor counts. */
type FloorReading = {
  readonly have: number
  readonly need: number
  /** What is counted, where one view counts something narrower than the contract says. */
  readonly missing?: string
  /** When there is enough, where that follows from time alone. */
  readonly readyAtMs?: number
  /** One sentence, where the numbers do not say it. */
  readonly detail?: string
}

type Floored = Pick<AnalysisContract, 'coverageFloor'>

/** Why an analysis has no answer below its floor of coverage; null at it and above. */
export function belowFloor(contract: Floored, reading: FloorReading): NoAnswer | null {
  return reading.have < reading.need ? lowCoverage(contract, reading) : null
}

/** The same where the reading is known to be below the floor. */
export function lowCoverage({ coverageFloor }: Floored, reading: FloorReading): NoAnswer {
  assert(reading.have < reading.need, 'at its floor an analysis is answered')
  return { kind: 'low-coverage', missing: coverageFloor.counts, ...reading }
}
