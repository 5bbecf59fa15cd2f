import type { TSchema } from 'typebox'
import type { DocumentKey } from './document.ts'
import { documentKey, WHOLE_MARKET } from './document.ts'

/** What a caller may add behind `?`. All of them together select one of a document's views. */
export type ViewParameter = {
  readonly name: string
  readonly description: string
  /** What may be given, for whoever gave something else ... */
  readonly allowed: readonly string[]
  /** ... and as the end of a sentence that begins with the name: `is one of full, compact`. */
  readonly rule: string
  readonly example: string
  /** The raw value as a JSON schema; one of `allowed` where absent. */
  readonly schema?: TSchema
  /** Code of the problem that another value is answered with. */
  readonly problem: 'invalid_timeframes' | 'invalid_parameter'
  /** What an absent value stands for. */
  readonly defaultValue: string
  /**
   * The value as view keys spell it; undefined for an invalid one. `before` has the values of the
   * parameters that stand before this one.
   */
  readonly valueOf: (raw: string, before: readonly string[]) => string | undefined
}

/** What a caller who has to choose an analysis reads of it. `useWhen` and `notWhen` end their sentence. */
type AnalysisGuide = {
  /** Below 80 characters. */
  readonly title: string
  /** Behind "Use when". */
  readonly useWhen: string
  /** Behind "Do not use when". */
  readonly notWhen: string
  /** Behind "Returns". */
  readonly returns: string
}

/** The least that an answer must rest on. Below it nothing is quoted or sold: 503 `warming_up`. */
type CoverageFloor = {
  /** What is counted, in the plural; `missing` of the refusal. */
  readonly counts: string
  /** The end of a sentence that begins with "Sold from". */
  readonly least: string
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
  /** What the published path calls the coin, where it is not `coin`. */
  readonly pathParameter?: 'token'
  readonly summary: string
  readonly guide: AnalysisGuide
  readonly priceUsdcAtomic: bigint
  readonly document: TSchema
  readonly defaultView: string
  /** In the order in which their values make up the key of a view; `defaultView` where there are none. */
  readonly viewParameters: readonly ViewParameter[]
  /**
   * Dotted paths that `view=compact` leaves out besides what it leaves out of every answer; a path goes
   * through lists. Never one called `coin` or `token`. Without effect where a view parameter of its own is called `view`.
   */
  readonly compactOmits?: readonly string[]
  /**
   * A load-bearing input older than this refuses the answer with 503. Infinity: warn, never refuse. An
   * input of a document may have a stricter limit of its own.
   */
  readonly inputAgeMsMax: number
  /** Judged where the document is rendered, for every view by itself. */
  readonly coverageFloor: CoverageFloor
}

/** Where an analysis is asked for; one of the whole market has no coin in its path. */
export function pathOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): string {
  return scope === 'coin' ? `/${id}/${coin}` : `/${id}`
}

/** The path as it is published, with the name of its parameter in braces. */
export function pathTemplateOf(
  contract: Pick<AnalysisContract, 'id' | 'scope' | 'pathParameter'>,
): string {
  return pathOf(contract, `{${pathParameterOf(contract)}}`)
}

export function pathParameterOf({
  pathParameter,
}: Pick<AnalysisContract, 'pathParameter'>): string {
  return pathParameter ?? 'coin'
}

/** The document that answers for a coin, or for all of them. */
export function keyOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): DocumentKey {
  return documentKey(id, scope === 'coin' ? coin : WHOLE_MARKET)
}

/**
 * Key of the view that was asked for.
 * @param rawOf the raw value of a parameter: undefined for none, null where it was given twice
 * @returns the parameter whose value does not hold, where there is one
 */
export function viewKeyOf(
  { viewParameters, defaultView }: Pick<AnalysisContract, 'viewParameters' | 'defaultView'>,
  rawOf: (name: string) => string | null | undefined,
): string | ViewParameter {
  if (viewParameters.length === 0) return defaultView
  const values: string[] = []
  for (const parameter of viewParameters) {
    const raw = rawOf(parameter.name)
    const value =
      raw === null ? undefined : parameter.valueOf(raw ?? parameter.defaultValue, values)
    if (value === undefined) return parameter
    values.push(value)
  }
  const [only = ''] = values
  return values.length === 1 ? only : values.join(',')
}
