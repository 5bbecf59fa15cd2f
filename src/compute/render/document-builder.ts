import assert from 'node:assert/strict'
import type {
  Answer,
  AnswerInputs,
  Document,
  DocumentKey,
  Input,
  NoAnswer,
  NumberedOutcome,
  NumberedOutcomes,
  NumberedViews,
  Part,
  Slot,
  View,
  Warning,
} from '../../domain/document.ts'

/** Indices into the document's parts. */
export type Fragment = readonly number[]

/** A written answer, with facts for other parts of the document. */
export type Written<Facts> = AnswerInputs & {
  readonly kind: 'written'
  readonly fragments: readonly Fragment[]
  readonly facts: Facts
}

/**
 * Marks a slot in JSON text: a control character of private use, which rendered text never contains. JSON does not
 * escape it, and it takes one byte in memory.
 */
const MARK = '\u0091'
const encoder = new TextEncoder()
const MARKED = /(,?)"\u0091(\d+)\u0091"(:0)?/g

/**
 * Cuts rendered JSON text at its slots and shares the pieces between the views of a document. Text is rendered from
 * objects: {@link slot} stands for a value, {@link memberSlot} for whole members.
 */
export class DocumentBuilder {
  readonly #slots: Slot[] = []
  readonly #parts: Part[] = []
  readonly #texts: string[] = []
  readonly #views: Record<string, View> = {}
  #numbered: NumberedViews | undefined
  #tail: Uint8Array | undefined
  #length = 0
  #component: number | undefined

  /** Slots that are created in `write` belong to one component of the answer. */
  within<Result>(component: number, write: () => Result): Result {
    assert(this.#component === undefined, 'a component holds no other')
    this.#component = component
    try {
      return write()
    } finally {
      this.#component = undefined
    }
  }

  /** Placeholder for a value that the gateway fills in. */
  slot(slot: Slot): number {
    this.#slots.push(this.#component === undefined ? slot : slotOf(slot, this.#component))
    // Typed as the number that it stands for, so that a rendered object satisfies its schema.
    return `${MARK}${this.#slots.length - 1}${MARK}` as unknown as number
  }

  /** Spread into an object where the slot's members belong; never as its only member. */
  memberSlot(slot: Slot): Readonly<Record<string, never>> {
    return { [this.slot(slot)]: 0 as never }
  }

  /** JSON text of a whole value. */
  value(value: unknown): Fragment {
    return this.text(JSON.stringify(value))
  }

  /** JSON text of any piece, including braces and commas. */
  text(text: string): Fragment {
    const fragment: number[] = []
    if (!text.includes(MARK)) {
      this.#push(fragment, text)
      return fragment
    }
    let from = 0
    for (const match of text.matchAll(MARKED)) {
      const slot = this.#slots[Number(match[2])]
      assert(slot !== undefined, 'a mark names a slot of this document')
      // This slot may be empty, so it includes its comma.
      const comma = slot.kind === 'requested-coin' ? '' : (match[1] ?? '')
      this.#push(fragment, text.slice(from, match.index) + comma)
      fragment.push(this.#parts.push(slot) - 1)
      from = match.index + match[0].length
    }
    this.#push(fragment, text.slice(from))
    return fragment
  }

  /** Joins consecutive fragments into one index that views can share. */
  run(first: Fragment, last: Fragment): Fragment {
    const from = first[0]
    const end = last.at(-1)
    assert(from !== undefined && end !== undefined && from <= end, 'a run goes forward')
    return [this.#parts.push({ kind: 'run', from, to: end + 1 }) - 1]
  }

  /**
   * Text of which each numbered view shows a range, as the last of the document.
   * @param tail the text, by `tailOf`; later documents may share it
   * @param choices for each fragment: start and end of each view's range in the text, bytes
   */
  choices(
    tail: Uint8Array,
    choices: readonly { readonly starts: Uint32Array; readonly ends: Uint32Array }[],
  ): readonly Fragment[] {
    const from = this.#length
    this.#tail = tail
    const shifted = (offsets: Uint32Array) => offsets.map((offset) => from + offset)
    return choices.map(({ starts, ends }) => {
      const part = { kind: 'choice', starts: shifted(starts), ends: shifted(ends) } as const
      return [this.#parts.push(part) - 1]
    })
  }

  /** Views 1, 2 and so on of one document. */
  numbered(
    fragments: readonly Fragment[],
    inputs: readonly Input[],
    outcomes: NumberedOutcomes,
  ): void {
    this.#numbered = { parts: fragments.flat(), inputs, ...outcomes }
  }

  answer(
    view: string,
    fragments: readonly Fragment[],
    facts: Omit<Answer, 'kind' | 'parts'>,
  ): void {
    this.#views[view] = { kind: 'answer', parts: fragments.flat(), ...facts }
  }

  /** Adds the view's answer, or why it has none. */
  settle(view: string, outcome: Written<unknown> | NoAnswer): void {
    if (outcome.kind === 'written') this.answer(view, outcome.fragments, answerInputsOf(outcome))
    else this.noAnswer(view, outcome)
  }

  noAnswer(view: string, reason: NoAnswer): void {
    this.#views[view] = reason
  }

  build(identity: {
    key: DocumentKey
    version: number
    renderedAtMs: number
    nextUpdateMs?: number
  }): Document {
    return {
      ...identity,
      bytes: encoder.encode(this.#texts.join('')),
      ...(this.#tail && { tail: this.#tail }),
      parts: this.#parts,
      views: this.#views,
      ...(this.#numbered && { numbered: this.#numbered }),
    }
  }

  #push(fragment: number[], text: string): void {
    if (text === '') return
    const start = this.#length
    this.#append(text)
    fragment.push(this.#parts.push({ kind: 'text', start, end: this.#length }) - 1)
  }

  #append(text: string): void {
    assert(this.#tail === undefined, 'choices are the last text')
    this.#length += Buffer.byteLength(text)
    this.#texts.push(text)
  }
}

/** Stores equal outcomes and warnings once: most documents have few different ones. */
export function numberedOutcomes(all: readonly NumberedOutcome[]): NumberedOutcomes {
  const indices = new Map<string, number>()
  const warningsBy = new Map<string, readonly Warning[]>()
  const lean = (outcome: NumberedOutcome): NumberedOutcome => {
    if (!('warnings' in outcome)) return outcome
    const key = outcome.warnings.join()
    const warnings = warningsBy.get(key) ?? outcome.warnings
    warningsBy.set(key, warnings)
    return { ...outcome, warnings }
  }
  const outcomes: NumberedOutcome[] = []
  const outcomeOf = Uint8Array.from(all, (outcome) => {
    const facts = JSON.stringify(outcome)
    const index = indices.get(facts) ?? outcomes.push(lean(outcome)) - 1
    indices.set(facts, index)
    return index
  })
  assert(outcomes.length <= 256, 'an index of an outcome is one byte')
  return { outcomes, outcomeOf }
}

/** Only slots about inputs belong to a component. */
function slotOf(slot: Slot, of: number): Slot {
  return slot.kind === 'freshness' || slot.kind === 'input-age' ? { ...slot, of } : slot
}

/** Inputs of an answer, without its content. */
export function answerInputsOf({ inputs, coveragePct, warnings }: AnswerInputs): AnswerInputs {
  return { inputs, coveragePct, warnings }
}
