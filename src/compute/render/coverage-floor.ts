import assert from 'node:assert/strict'
import type { AnalysisContract } from '../../domain/contract.ts'
import type { NoAnswer } from '../../domain/document.ts'

/** Available and required amount of what a floor counts. */
type FloorReading = Omit<Extract<NoAnswer, { kind: 'low-coverage' }>, 'kind' | 'missing'> & {
  /** Counted unit, where a view counts something narrower than the contract. */
  readonly missing?: string
}

type Floored = Pick<AnalysisContract, 'coverageFloor'>

/** Why an analysis has no answer below its coverage floor; null at or above it. */
export function belowFloor(contract: Floored, reading: FloorReading): NoAnswer | null {
  return reading.have < reading.need ? lowCoverage(contract, reading) : null
}

/** The same for a reading that is known to be below the floor. */
export function lowCoverage({ coverageFloor }: Floored, reading: FloorReading): NoAnswer {
  assert(reading.have < reading.need, 'at its floor an analysis is answered')
  return { kind: 'low-coverage', missing: coverageFloor.counts, ...reading }
}
