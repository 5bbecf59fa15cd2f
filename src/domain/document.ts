import type { Timeframe } from './timeframe.ts'

/**
 * A document is bytes that were rendered once, with slots for what changes with time alone. A reader
 * fills the slots from instants that came along, so that an age is true at the moment of sending, and
 * nothing is parsed or serialised again.
 */
export type Document = {
  readonly key: DocumentKey
  /** Rises with every rendering of the key, also across engine restarts. */
  readonly version: number
  readonly renderedAtMs: number
  /** When a newer one is due, where a schedule of its own says so; see {@link nextUpdateMs}. */
  readonly nextUpdateMs?: number
  /** UTF-8 JSON text of every part, one behind the other; {@link sharedBytes}, which nobody changes. */
  readonly bytes: Uint8Array
  readonly parts: readonly Part[]
  /** One answer per view key: which parts, in which order, or why there is none. */
  readonly views: Readonly<Record<string, View>>
  /** Further views, with the keys 1, 2 and so on; read by {@link viewOf}. */
  readonly numbered?: NumberedViews
}

/**
 * Hundreds of views that differ in a few ranges of the bytes. As objects of their own they would cost more to
 * send from thread to thread than all the rest of the document.
 */
export type NumberedViews = NumberedOutcomes & {
  /** Of each of them: indices into the document's parts. */
  readonly parts: readonly number[]
  readonly inputs: readonly Input[]
}

export type NumberedOutcomes = {
  /** The different outcomes ... */
  readonly outcomes: readonly NumberedOutcome[]
  /** ... and the index of its outcome for each view. */
  readonly outcomeOf: Uint8Array
}

/** What an answer rests on besides its inputs, or why there is none. */
export type NumberedOutcome = Omit<AnswerInputs, 'inputs'> | NoAnswer

/** `<analysis>/<subject>`, such as `pulse/kPEPE`; the subject is {@link WHOLE_MARKET} for some. */
export type DocumentKey = `${string}/${string}`

export type Part = TextPart | RunPart | ChoicePart | Slot

/** A range of the document's bytes. */
type TextPart = { readonly kind: 'text'; readonly start: number; readonly end: number }

/** The parts `from` up to, not including, `to`; none of them is a run. One index for many rows. */
type RunPart = { readonly kind: 'run'; readonly from: number; readonly to: number }

/** One range of the bytes for each numbered view. */
type ChoicePart = {
  readonly kind: 'choice'
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/** `of`: the index of the component that it belongs to; absent for the answer as a whole. */
export type Slot =
  /** Seconds since the input of that name was last confirmed; every view with this part has it. */
  | { readonly kind: 'input-age'; readonly input: string; readonly of?: number }
  /** Seconds since an instant of its own, where a view has more of them than inputs. */
  | { readonly kind: 'age'; readonly confirmedAtMs: number }
  /** The members `data_age_seconds`, `warning`, `warnings` and `quality` of `meta`. */
  | { readonly kind: 'freshness'; readonly of?: number }
  /** Milliseconds that the reader spent on this answer. */
  | { readonly kind: 'execution-ms' }
  /** How many coins `/coins` lists at this moment. */
  | { readonly kind: 'coins-available' }
  /** `,"requested_coin":…,"unit_multiplier":…` where the caller used another name; else nothing. */
  | { readonly kind: 'requested-coin'; readonly member?: 'requested_token' }

export type View = Answer | NoAnswer

export type Answer = AnswerInputs & {
  readonly kind: 'answer'
  /** Indices into `parts`. */
  readonly parts: readonly number[]
  /** Which range of a choice is this answer's; present in numbered views only. */
  readonly choice?: number
  /** Of an answer that is put together of others: what each of them rests on. */
  readonly components?: readonly AnswerInputs[]
}

/** What an answer, or one of those that it is put together of, rests on. */
export type AnswerInputs = {
  readonly inputs: readonly Input[]
  /** Share of the wished-for inputs that exist, 0 to 100. */
  readonly coveragePct: number
  readonly warnings: readonly Warning[]
}

/** Stands for an instant of which nobody knows how long ago it was. No answer may rest on it. */
export const UNKNOWN_INSTANT_MS = 0

/** Something that an answer rests on, and the last instant at which its source confirmed it. */
export type Input = {
  readonly name: string
  readonly confirmedAtMs: number
  /** How often a healthy source confirms it. */
  readonly cadenceMs: number
  /** False for an input whose loss leaves the answer useful. */
  readonly isLoadBearing: boolean
  /** Refuses the answer when this input is older, where the contract's own limit allows more. */
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

/** Why a view has no answer yet. It is as much a result as an answer, and is never charged for. */
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
      /** One sentence, where it is not the venue that has to tell it. */
      readonly detail?: string
    }
  | NotCovered
  /** Less is known than the floor of coverage in the analysis' contract asks for. */
  | {
      readonly kind: 'low-coverage'
      /** What there is too little of, in the plural. */
      readonly missing: string
      readonly have: number
      readonly need: number
      /** When there is enough, where that follows from time alone. */
      readonly readyAtMs?: number
      /** One sentence, where the numbers do not say it. */
      readonly detail?: string
    }

/** No source that we listen to knows this coin; of those coins they do. */
export type NotCovered = { readonly kind: 'not-covered'; readonly coins: readonly string[] }

/** Which bytes of a choice are this answer's. */
export function rangeOf({ starts, ends }: ChoicePart, { choice }: Answer): [number, number] {
  const [start, end] = [starts[choice ?? Number.NaN], ends[choice ?? Number.NaN]]
  if (start === undefined || end === undefined)
    throw new TypeError(`no choice of ${starts.length} is numbered ${choice}`)
  return [start, end]
}

/** Names the state of the market that documents were rendered from: all of one instant share it. */
export function snapshotIdOf(renderedAtMs: number): string {
  return `snp_${renderedAtMs.toString(36)}`
}

/**
 * When a newer answer is due: as soon as the next of what it rests on is due to be confirmed again. It does
 * not move with time: once it has passed, an update is overdue.
 */
export function nextUpdateMs(inputs: readonly Input[], renderedAtMs: number): number {
  const dueMs = inputs
    .filter(({ isLoadBearing }) => isLoadBearing)
    .map(({ confirmedAtMs, cadenceMs }) => confirmedAtMs + cadenceMs)
  return dueMs.length === 0 ? renderedAtMs : Math.min(...dueMs)
}

/** Sent from thread to thread they are not copied: 15 MB of documents are there once. */
export function sharedBytes(length: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(length))
}

/** The subject of a document that is about all coins. No coin is called so. */
export const WHOLE_MARKET = '*'

export function documentKey(analysis: string, subject: string): DocumentKey {
  return `${analysis}/${subject}`
}

export function subjectOf(key: DocumentKey): string {
  return key.slice(key.indexOf('/') + 1)
}

/** Whether any of its views can be sold. */
export function hasAnswer({ views, numbered }: Document): boolean {
  for (const key in views) if (views[key]?.kind === 'answer') return true
  return numbered?.outcomes.some((outcome) => !isNoAnswer(outcome)) ?? false
}

/** The answer to one view, or why there is none; the same object for as long as the document lives. */
export function viewOf({ views, numbered }: Document, key: string): View | undefined {
  return views[key] ?? (numbered && numberedView(numbered, key))
}

/** All of them by their keys. */
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
