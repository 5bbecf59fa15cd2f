import type { Registry } from 'prom-client'
import type { Clock } from '../../domain/clock.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import type { DocumentFigures } from '../../domain/desk-reports.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import { documentFigures } from '../desk/document-figures.ts'
import { readGauges } from './read-gauge.ts'

/** Documents of every analysis are read once for all metrics of one scrape. */
const PERIOD_MS = 500

/** Documents and their ages by analysis. */
export function measureDocuments(
  metrics: Registry,
  contracts: readonly AnalysisContract[],
  engine: Pick<EngineReplica, 'listed' | 'viewsOf' | 'state'>,
  clock: Pick<Clock, 'nowMs'>,
): void {
  let figures: readonly DocumentFigures[] = []
  let readAtMs = Number.NaN
  const present = () => {
    const nowMs = clock.nowMs()
    if (!(Math.abs(nowMs - readAtMs) < PERIOD_MS)) {
      figures = contracts.map((contract) => documentFigures(contract, engine, nowMs))
      readAtMs = nowMs
    }
    return figures
  }
  const gauge = (name: string, help: string, read: (figures: DocumentFigures) => number | null) =>
    readGauges(metrics, name, help, 'analysis', () =>
      present().flatMap((one) => {
        const value = read(one)
        return value === null ? [] : [[one.analysis, value] as const]
      }),
    )
  gauge(
    'perpscope_documents',
    'Documents that exist, without those of coins that the analysis does not cover.',
    ({ documents }) => documents,
  )
  gauge(
    'perpscope_documents_answerable',
    'Documents whose default answer can be sold now.',
    ({ answerable }) => answerable,
  )
  gauge(
    'perpscope_document_age_median_seconds',
    'Median age of the answers that can be sold, by their oldest load-bearing input.',
    ({ medianAgeMs }) => medianAgeMs && medianAgeMs / 1_000,
  )
  gauge(
    'perpscope_document_age_oldest_seconds',
    'Age of the oldest answer that can be sold.',
    ({ worstAgeMs }) => worstAgeMs && worstAgeMs / 1_000,
  )
  readGauges(
    metrics,
    'perpscope_document_age_limit_seconds',
    'Age at which an answer is refused. Absent where the contract only warns.',
    'analysis',
    () =>
      contracts.flatMap(({ id, inputAgeMsMax }) =>
        Number.isFinite(inputAgeMsMax) ? [[id, inputAgeMsMax / 1_000] as const] : [],
      ),
  )
}
