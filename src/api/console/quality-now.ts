import type { ConsoleQuality } from '../../domain/console-protocol.ts'
import { callReader, findAnswer } from '../analysis-call.ts'
import { qualityOf } from '../answer-preview.ts'
import type { LiveDocumentsOptions } from './live-documents.ts'

export type QualityOptions = Omit<LiveDocumentsOptions, 'charts'> & {
  /** Stands for all coins. */
  readonly sampleCoin: string
}

/** Age, grade and coverage of each analysis at this moment: what every quote states, and no figure that is sold. */
export function qualityNow(options: QualityOptions): () => readonly ConsoleQuality[] {
  const { contracts, engine, clock, isClockOff, sampleCoin } = options
  const request = { query: {}, params: { coin: sampleCoin }, headers: {} }
  const readers = contracts.map((contract) => ({
    contract,
    read: callReader(contract, { engine, exampleCoin: sampleCoin, isFree: true }),
  }))
  return () => {
    const nowMs = clock.nowMs()
    return readers.map(({ contract, read }): ConsoleQuality => {
      const { id } = contract
      const call = read(request, nowMs)
      const found = call.kind === 'refusal' ? call : findAnswer(contract, call, engine, nowMs)
      if (found.kind === 'refusal') {
        const { code, facts } = found
        return { id, refusal: { code, detail: facts.detail } }
      }
      const { grade, coverage, ageSeconds } = qualityOf(found, nowMs, isClockOff())
      return { id, grade, coveragePct: coverage, ageSeconds }
    })
  }
}
