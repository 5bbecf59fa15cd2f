import type { Warning } from '../../domain/document.ts'

/** How much there is of something, and how much it should be, in one unit. */
type Share = { readonly have: number; readonly need: number }

/** Below this share of what should be covered an answer about many says so. */
const COVERAGE_MIN = 0.8

/**
 * What an answer's figures were computed from, where that can be too little: `history` a window in time,
 * `records` the rows within it, `members` the coins or sources that an answer about many is about.
 */
export type Completeness = {
  readonly history?: Share
  readonly records?: Share
  readonly members?: Share
}

/** What an engine says about its own answer. Whatever changes with time alone the reader adds. */
export function completenessWarnings({ history, records, members }: Completeness): Warning[] {
  const warnings: Warning[] = []
  if (records !== undefined && records.have < records.need) warnings.push('partial_data')
  if (history !== undefined && history.have < history.need) warnings.push('short_history')
  if (members !== undefined && members.have < COVERAGE_MIN * members.need)
    warnings.push('low_coverage')
  return warnings
}

/** `coverage_pct` of that share; 100 where nothing was needed. */
export function coveragePct({ have, need }: Share): number {
  return need <= 0 ? 100 : Math.min(100, (100 * Math.max(0, have)) / need)
}
