import type { AnalysisContract } from '../../domain/contract.ts'
import type { Analyses } from '../processor.ts'
import { pulse } from './pulse/pulse.ts'
import { spread } from './spread/spread.ts'

/** Every product of the service: one document a coin, and one for the whole market. */
export const analyses: Analyses = {
  coin: [pulse, spread],
  market: [],
}

export const contracts: readonly AnalysisContract[] = [...analyses.coin, ...analyses.market].map(
  ({ contract }) => contract,
)
