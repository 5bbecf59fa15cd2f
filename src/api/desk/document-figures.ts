import type { AnalysisContract } from '../../domain/contract.ts'
import { keyOf } from '../../domain/contract.ts'
import type { DocumentFigures } from '../../domain/desk-reports.ts'
import { viewOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { EngineReplica } from '../../link/engine-replica.ts'
import { freshness, overdue } from '../freshness.ts'

type Documents = Pick<EngineReplica, 'listed' | 'viewsOf' | 'state'>

/** Ages and grades of the default answers of one analysis that could be sold at this instant. */
export function documentFigures(
  contract: AnalysisContract,
  engine: Documents,
  nowMs: number,
): DocumentFigures {
  const grades = { A: 0, B: 0, C: 0, D: 0 }
  const ages: number[] = []
  let worst: { readonly subject: string; readonly ageMs: number } | null = null
  let documents = 0
  // Nothing is sold without an engine.
  const isAway = engine.state(nowMs) !== 'available'
  for (const subject of contract.scope === 'coin' ? engine.listed : [WHOLE_MARKET]) {
    const document = engine.viewsOf(keyOf(contract, subject))
    if (document === undefined) continue
    const view = viewOf(document, contract.defaultView)
    // No answer of such a coin is expected.
    if (view?.kind === 'not-covered') continue
    documents += 1
    if (isAway || view?.kind !== 'answer') continue
    if (overdue(document, view, contract.inputAgeMsMax, nowMs) !== null) continue
    const { dataAgeMs, grade } = freshness(document, view, nowMs)
    if (dataAgeMs === Number.POSITIVE_INFINITY) continue
    grades[grade] += 1
    ages.push(dataAgeMs)
    if (worst === null || dataAgeMs > worst.ageMs) worst = { subject, ageMs: dataAgeMs }
  }
  ages.sort((a, b) => a - b)
  return {
    analysis: contract.id,
    documents,
    answerable: ages.length,
    medianAgeMs: ages[(ages.length - 1) >> 1] ?? null,
    worstAgeMs: worst?.ageMs ?? null,
    worstSubject: worst?.subject ?? null,
    grades,
  }
}
