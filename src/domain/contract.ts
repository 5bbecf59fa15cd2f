import type { TSchema } from 'typebox'
import type { DocumentKey } from './document.ts'
import { documentKey, WHOLE_MARKET } from './document.ts'

/** A query parameter. All of them together select one view of a document. */
export type ViewParameter = {
  readonly name: string
  readonly description: string
  /** Valid values, for the refusal of others. */
  readonly allowed: readonly string[]
  /** The end of a sentence that begins with the name: `must be one of full, compact`. */
  readonly rule: string
  readonly example: string
  /** Schema of the raw value; default: an enum of `allowed`. */
  readonly schema?: TSchema
  /** Error code for an invalid value. */
  readonly problem: 'invalid_timeframes' | 'invalid_parameter'
  readonly defaultValue: string
  /** The value as part of a view key; undefined if invalid. `before`: the values of the preceding parameters. */
  readonly valueOf: (raw: string, before: readonly string[]) => string | undefined
}

/** The text by which a caller chooses an analysis. */
type AnalysisGuide = {
  /** Below 80 characters. */
  readonly title: string
  /** Continues "Use when". */
  readonly useWhen: string
  /** Continues "Do not use when". */
  readonly notWhen: string
  /** Continues "Returns". */
  readonly returns: string
}

/** Minimum coverage of an answer. Below it nothing is quoted or sold: 503 `warming_up`. */
type CoverageFloor = {
  /** The counted items in the plural, such as `changes of open interest`: `missing` of the refusal. */
  readonly counts: string
  /** The end of a sentence that begins with "requires". */
  readonly least: string
}

/** The form of the documents of one identifier, sold or not. */
export type DocumentContract = {
  readonly id: string
  /** One document per coin, or one for the whole market. */
  readonly scope: 'coin' | 'market'
  readonly document: TSchema
  readonly defaultView: string
  /** Their values in this order form a view key; without parameters it is `defaultView`. */
  readonly viewParameters: readonly ViewParameter[]
  /** Key of a view of everything, too large for an answer: the operator's console shows it, and no call reaches it. */
  readonly wholeView?: string
}

/** The contract of one analysis. Route, price, payment terms, freshness check and published documents derive from it. */
export type AnalysisContract = DocumentContract & {
  /** `meta.offering`. */
  readonly offering: string
  /** Name of the coin in the published path; default `coin`. */
  readonly pathParameter?: 'token'
  readonly summary: string
  readonly guide: AnalysisGuide
  readonly priceUsdcAtomic: bigint
  /**
   * Dotted paths that `view=compact` omits in addition to those of all answers; a path reaches into lists and never
   * names `coin` or `token`. Without effect if the analysis has its own parameter `view`.
   */
  readonly compactOmits?: readonly string[]
  /** Dotted paths, likewise, of members of the schema that no answer of the view with this key has. */
  readonly viewOmits?: (view: string) => readonly string[]
  /** An older load-bearing input refuses the answer with 503; Infinity only warns. An input may have a stricter limit. */
  readonly inputAgeMsMax: number
  /** Checked for each view when the document is rendered. */
  readonly coverageFloor: CoverageFloor
}

/** The path of an analysis; without the coin for one of the whole market. */
export function pathOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): string {
  return scope === 'coin' ? `/${id}/${coin}` : `/${id}`
}

/** The published path, with the parameter in braces. */
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

export function keyOf(
  { id, scope }: Pick<AnalysisContract, 'id' | 'scope'>,
  coin: string,
): DocumentKey {
  return documentKey(id, scope === 'coin' ? coin : WHOLE_MARKET)
}

/**
 * @param rawOf the raw value of a parameter: undefined for none, null if it occurs twice
 * @returns the key of the requested view, or the parameter with an invalid value
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
