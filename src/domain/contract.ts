import type { TSchema } from 'typebox'
import type { DocumentKey } from './document.ts'
import { documentKey, WHOLE_MARKET } from './document.ts'

/** What a caller may add behind `?`, and how it selects one of a document's views. */
export type ViewParameter = {
  readonly name: string
  readonly description: string
  readonly allowed: readonly string[]
  readonly example: string
  /** Code of the problem that a value outside `allowed` is answered with. */
  readonly problem: 'invalid_timeframes'
  /** Key of the view for a raw value; undefined for an invalid one. An absent value is `defaultView`. */
  readonly viewOf: (raw: string) => string | undefined
}

/**
 * What the world outside is promised about one analysis. Route, price, payment terms, freshness gate
 * and every published document derive from this value and from nothing else.
 */
export type AnalysisContract = {
  readonly id: string
  /** `meta.offering`. */
  readonly offering: string
  /** What the path names behind the id: one document per coin, or nothing: one for the whole market. */
  readonly scope: 'coin' | 'market'
  readonly summary: string
  readonly priceUsdcAtomic: bigint
  readonly document: TSchema
  readonly defaultView: string
  readonly viewParameter: ViewParameter | null
  /** A load-bearing input older than this refuses the answer with 503. Infinity: warn, never refuse. */
  readonly inputAgeMsMax: number
}

/** Where an analysis is asked for; one of the whole market has no coin in its path. */
export function pathOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): string {
  return scope === 'coin' ? `/${id}/${coin}` : `/${id}`
}

/** The document that answers for a coin, or for all of them. */
export function keyOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): DocumentKey {
  return documentKey(id, scope === 'coin' ? coin : WHOLE_MARKET)
}
