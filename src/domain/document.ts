import type { Timeframe } from './timeframe.ts'

/**
 * Bytes that are rendered once, with slots for values that change with time alone. The gateway fills the slots from the
 * instants of the document when it sends; nothing is parsed or serialised again.
 */
export type Document = {
  readonly key: DocumentKey
  /** Rises with every rendering of the key, also across engine restarts. */
  readonly version: number
  readonly renderedAtMs: number
  /** Next scheduled rendering, for a document with its own schedule; see {@link nextUpdateMs}. */
  readonly nextUpdateMs?: number | undefined
  /** UTF-8 JSON of all parts, concatenated; immutable. */
  readonly bytes: Uint8Array
  /**
   * The last of the bytes, if they outlive the document: its versions share them. Offsets count through both. Deflated
   * by `tailOf`, read by `bytesOf` of `document-bytes.ts`.
   */
  readonly tail?: Uint8Array | undefined
  readonly parts: readonly Part[]
  /** By view key: the parts of the answer, or why there is none. */
  readonly views: Readonly<Record<string, View>>
  /** Further views with the keys 1, 2 and so on; read by {@link viewOf}. */
  readonly numbered?: NumberedViews | undefined
  /** Of a document whose views are read when they are needed; ask `hasAnswerIn` of `packed-document.ts`. */
  hasAnswerIn?(view: string): boolean
}

/** Hundreds of views that differ in a few byte ranges. As objects they would dominate the cost of the message. */
export type NumberedViews = NumberedOutcomes & {
  /** Indices into the document's parts. */
  readonly parts: readonly number[]
  readonly inputs: readonly Input[]
}

export type NumberedOutcomes = {
  /** Distinct outcomes. */
  readonly outcomes: readonly NumberedOutcome[]
  /** Index of the outcome of each view. */
  readonly outcomeOf: Uint8Array
}

/** Coverage and warnings of an answer, or why there is none. */
export type NumberedOutcome = Omit<AnswerInputs, 'inputs'> | NoAnswer

/** `<analysis>/<subject>`, such as `pulse/kPEPE`; the subject is a coin or {@link WHOLE_MARKET}. */
export type DocumentKey = `${string}/${string}`

export type Part = TextPart | RunPart | ChoicePart | Slot

/** A range of the document's bytes. */
type TextPart = { readonly kind: 'text'; readonly start: number; readonly end: number }

/** The parts from `from` to `to` (exclusive), none of them a run: one index for many rows. */
type RunPart = { readonly kind: 'run'; readonly from: number; readonly to: number }

/** One range of the bytes for each numbered view. */
export type ChoicePart = {
  readonly kind: 'choice'
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** `of`: index of the component that the slot belongs to; absent for the answer as a whole. */
export type Slot =
  /** Seconds since the last confirmation of the input. */
  | { readonly kind: 'input-age'; readonly input: string; readonly of?: number }
  /** Seconds since an instant that belongs to no input. */
  | { readonly kind: 'age'; readonly confirmedAtMs: number }
  /** The members `data_age_seconds`, `warning`, `warnings` and `quality` of `meta`. */
  | { readonly kind: 'freshness'; readonly of?: number }
  /** Processing time of the request, milliseconds. */
  | { readonly kind: 'execution-ms' }
  /** Number of coins in `/coins`. */
  | { readonly kind: 'coins-available' }
  /** `,"requested_coin":…,"unit_multiplier":…` if the caller used another name; else nothing. */
  | { readonly kind: 'requested-coin'; readonly member?: 'requested_token' }

export type View = Answer | NoAnswer

export type Answer = AnswerInputs & {
  readonly kind: 'answer'
  /** Indices into `parts`. */
  readonly parts: readonly number[]
  /** Index of the range in a choice; in numbered views only. */
  readonly choice?: number
  /** Inputs of each component, for an answer that combines others. */
  readonly components?: readonly AnswerInputs[]
}

/** Inputs, coverage and warnings of an answer or of one of its components. */
export type AnswerInputs = {
  readonly inputs: readonly Input[]
  /** Share of the wanted inputs that exist, 0 to 100. */
  readonly coveragePct: number
  readonly warnings: readonly Warning[]
}

/** An instant of unknown age; such an input refuses the answer. */
export const UNKNOWN_INSTANT_MS = 0

/** An input of an answer, and the last instant at which its source confirmed it. */
export type Input = {
  readonly name: string
  readonly confirmedAtMs: number
  /** Confirmation period of a healthy source. */
  readonly cadenceMs: number
  /** False if the answer is useful without this input. */
  readonly isLoadBearing: boolean
  /** Age limit of this input, stricter than that of the contract. */
  readonly ageMsMax?: number
}

export const warnings = [
  'stale_data',
  'partial_data',
  'short_history',
  'model_estimate',
  'low_coverage',
  'wide_oracle_confidence',
  'thin_book',
  'leg_skew',
  'feed_degraded',
  'clock_off',
  'collateral_unpriced',
] as const

export type Warning = (typeof warnings)[number]

/** Why a view has no answer; never charged. */
export type NoAnswer =
  | {
      readonly kind: 'insufficient-candles'
      readonly timeframe: Timeframe
      readonly have: number
      readonly need: number
    }
  | {
      readonly kind: 'missing-input'
      readonly input: string
      /** One sentence, for an input that does not come from the venue. */
      readonly detail?: string
    }
  | NotCovered
  /** Below the coverage floor of the contract. */
  | {
      readonly kind: 'low-coverage'
      /** The counted items, in the plural. */
      readonly missing: string
      readonly have: number
      readonly need: number
      /** When the floor is reached, if that depends on time alone. */
      readonly readyAtMs?: number
      /** One sentence, if the numbers do not explain the cause. */
      readonly detail?: string
    }

/** No source covers this coin; `coins` are covered. */
export type NotCovered = { readonly kind: 'not-covered'; readonly coins: readonly string[] }

/** The byte range of an answer in a choice. */
export function rangeOf({ starts, ends }: ChoicePart, { choice }: Answer): [number, number] {
  const [start, end] = [starts[choice ?? Number.NaN], ends[choice ?? Number.NaN]]
  if (start === undefined || end === undefined)
    throw new TypeError(`no choice of ${starts.length} is numbered ${choice}`)
  return [start, end]
}

/** Identifies the market state of a rendering instant. */
export function snapshotIdOf(renderedAtMs: number): string {
  return `snp_${renderedAtMs.toString(36)}`
}

/** When a newer answer is due: the earliest next confirmation of a load-bearing input. A past instant means overdue. */
export function nextUpdateMs(inputs: readonly Input[], renderedAtMs: number): number {
  const dueMs = inputs
    .filter(({ isLoadBearing }) => isLoadBearing)
    .map(({ confirmedAtMs, cadenceMs }) => confirmedAtMs + cadenceMs)
  return dueMs.length === 0 ? renderedAtMs : Math.min(...dueMs)
}

/** Subject of documents about the whole market; no coin has this name. */
export const WHOLE_MARKET = '*'

export function documentKey(analysis: string, subject: string): DocumentKey {
  return `${analysis}/${subject}`
}

export function subjectOf(key: DocumentKey): string {
  return key.slice(key.indexOf('/') + 1)
}

/** Whether any view has an answer. */
export function hasAnswer({ views, numbered }: Document): boolean {
  for (const key in views) if (views[key]?.kind === 'answer') return true
  return numbered?.outcomes.some((outcome) => !isNoAnswer(outcome)) ?? false
}

/** One view of a document; always the same object for the same document. */
export function viewOf(
  { views, numbered }: Pick<Document, 'views' | 'numbered'>,
  key: string,
): View | undefined {
  return views[key] ?? (numbered && numberedView(numbered, key))
}

/** All views by key. */
export function viewsOf({ views, numbered }: Document): Readonly<Record<string, View>> {
  const all: Record<string, View> = { ...views }
  for (let choice = 0; numbered !== undefined && choice < numbered.outcomeOf.length; choice += 1) {
    const key = String(choice + 1)
    const view = numberedView(numbered, key)
    if (view !== undefined) all[key] = view
  }
  return all
}

const numberedViews = new WeakMap<NumberedViews, Map<string, View>>()

function numberedView(numbered: NumberedViews, key: string): View | undefined {
  const made = numberedViews.get(numbered) ?? new Map<string, View>()
  numberedViews.set(numbered, made)
  const held = made.get(key)
  if (held !== undefined) return held
  const choice = Number(key) - 1
  const outcome = numbered.outcomes[numbered.outcomeOf[choice] ?? Number.NaN]
  if (outcome === undefined) return undefined
  const { parts, inputs } = numbered
  const view: View = isNoAnswer(outcome)
    ? outcome
    : { kind: 'answer', parts, inputs, choice, ...outcome }
  made.set(key, view)
  return view
}

function isNoAnswer(outcome: NumberedOutcome): outcome is NoAnswer {
  return 'kind' in outcome
}
