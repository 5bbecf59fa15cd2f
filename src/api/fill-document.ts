import assert from 'node:assert/strict'
import { BoundedMap } from '../domain/bounded-map.ts'
import type { Answer, AnswerInputs, Document, Input, Slot } from '../domain/document.ts'
import { rangeOf } from '../domain/document.ts'
import { bytesOf } from '../domain/document-bytes.ts'
import type { Members } from './answer-members.ts'
import { membersIn } from './answer-members.ts'
import type { Selection } from './answer-selection.ts'
import { selectPieces } from './answer-selection.ts'
import { freshness } from './freshness.ts'

/** Values of the slots at the moment of sending. */
export type FillFacts = {
  readonly nowMs: number
  readonly executionMs: number
  readonly coinsAvailable: number
  /** Set if the caller named the unscaled token of a coin that is quoted in thousands. */
  readonly requested?: RequestedCoin | undefined
  readonly isClockOff?: boolean
}

/** Values on which the members of an answer depend. */
export type SlotFacts = Pick<FillFacts, 'nowMs' | 'requested'>

export type RequestedCoin = { readonly ticker: string; readonly unitMultiplier: number }

/**
 * The bytes of one answer: rendered text with filled slots. Nothing is parsed or serialised, and the text is copied
 * once: V8 concatenates without copying, and a one-byte string becomes a Buffer in one step. Callers within one
 * millisecond share the bytes, which must not be modified.
 * @param selection the requested part; null for all
 */
export function fillDocument(
  document: Document,
  answer: Answer,
  facts: FillFacts,
  selection: Selection | null = null,
): Buffer {
  const whole = templateOf(document, answer)
  const template = selection === null ? whole : selectedTemplate(whole, selection)
  if (template.filled !== null && isSame(template.facts, facts)) return template.filled
  let text = ''
  for (const piece of template.pieces) {
    text += typeof piece === 'string' ? piece : slotText(piece, document, answer, facts)
  }
  template.filled = Buffer.from(text, 'latin1')
  template.facts = facts
  return template.filled
}

/** The members of an answer, found once per rendering. */
export function answerMembers(document: Document, answer: Answer): Members {
  const held = membersByAnswer.get(answer)
  if (held !== undefined) return held
  const members = membersIn(piecesOf(document, answer))
  membersByAnswer.set(answer, members)
  return members
}

/** Names of the members that a slot of an answer writes at one moment. */
export function slotNames(
  document: Document,
  answer: Answer,
  facts: SlotFacts,
): (slot: Slot) => readonly string[] {
  return (slot) => {
    const text = slotText(slot, document, answer, { ...noFacts, ...facts })
    return Object.keys(JSON.parse(`{${text.replace(/^,/, '')}}`))
  }
}

type Template = {
  /** Text has one character per byte (latin1), so no UTF-8 sequence is decoded or cut. */
  readonly pieces: readonly (string | Slot)[]
  facts: FillFacts
  filled: Buffer | null
  /** Recent selections, by their key. */
  selected?: BoundedMap<string, Template>
}

const SELECTED_MAX = 8

/** A template lives as long as its answer. */
const templates = new WeakMap<Answer, Template>()

/** An unpaid call needs these without a template. */
const membersByAnswer = new WeakMap<Answer, Members>()

/** Once per document, as the pieces of all its views are slices of it. */
const texts = new WeakMap<Document, string>()

const noFacts: FillFacts = { nowMs: Number.NaN, executionMs: 0, coinsAvailable: 0 }

function templateOf(document: Document, answer: Answer): Template {
  const held = templates.get(answer)
  if (held !== undefined) return held
  const template: Template = { pieces: piecesOf(document, answer), facts: noFacts, filled: null }
  templates.set(answer, template)
  return template
}

function piecesOf(document: Document, answer: Answer): readonly (string | Slot)[] {
  const text = textOf(document)
  const pieceAt = (index: number): string | Slot | (string | Slot)[] => {
    const part = document.parts[index]
    assert(part !== undefined, `a view of ${document.key} names part ${index}`)
    if (part.kind === 'text') return text.slice(part.start, part.end)
    if (part.kind === 'choice') return text.slice(...rangeOf(part, answer))
    if (part.kind !== 'run') return part
    const { from, to } = part
    return Array.from({ length: to - from }, (_, at) => pieceAt(from + at)).flat()
  }
  return answer.parts.flatMap(pieceAt)
}

function textOf(document: Document): string {
  const held = texts.get(document)
  if (held !== undefined) return held
  const { buffer, byteOffset, length } = bytesOf(document)
  const text = Buffer.from(buffer, byteOffset, length).toString('latin1')
  texts.set(document, text)
  return text
}

/** Computed once per rendering and selection. */
function selectedTemplate(whole: Template, selection: Selection): Template {
  whole.selected ??= new BoundedMap(SELECTED_MAX)
  const { selected } = whole
  const held = selected.get(selection.key)
  if (held !== undefined) return held
  const pieces = selectPieces(whole.pieces, selection)
  const template: Template = { pieces, facts: noFacts, filled: null }
  selected.set(selection.key, template)
  return template
}

function isSame(a: FillFacts, b: FillFacts): boolean {
  return (
    a.nowMs === b.nowMs &&
    a.executionMs === b.executionMs &&
    a.coinsAvailable === b.coinsAvailable &&
    a.isClockOff === b.isClockOff &&
    a.requested?.ticker === b.requested?.ticker
  )
}

function slotText(slot: Slot, document: Document, answer: Answer, facts: FillFacts): string {
  switch (slot.kind) {
    case 'input-age': {
      const input = inputOf(basisOf(slot, document, answer), slot.input)
      if (input === undefined) assert.fail(`a slot of ${document.key} names input ${slot.input}`)
      return seconds(Math.max(0, facts.nowMs - input.confirmedAtMs))
    }
    case 'age':
      return seconds(Math.max(0, facts.nowMs - slot.confirmedAtMs))
    case 'freshness':
      return freshnessMembers(document, basisOf(slot, document, answer), facts)
    case 'execution-ms':
      return thousandths(Math.max(0, facts.executionMs))
    case 'coins-available':
      return String(facts.coinsAvailable)
    case 'requested-coin':
      return facts.requested === undefined
        ? ''
        : requestedMembers(slot.member ?? 'requested_coin', facts.requested)
    default:
      return slot satisfies never
  }
}

/** The answer as a whole, or the component that the slot belongs to. */
function basisOf(
  { of }: { readonly of?: number },
  document: Document,
  answer: Answer,
): AnswerInputs {
  if (of === undefined) return answer
  const component = answer.components?.[of]
  assert(component !== undefined, `a slot of ${document.key} names component ${of}`)
  return component
}

/** A loop: a closure per slot would cost more than the search. */
function inputOf(basis: AnswerInputs, name: string): Input | undefined {
  for (const input of basis.inputs) if (input.name === name) return input
  return undefined
}

function freshnessMembers(
  document: Document,
  basis: AnswerInputs,
  { nowMs, isClockOff }: FillFacts,
): string {
  const { dataAgeMs, grade, warnings } = freshness(document, basis, nowMs, isClockOff)
  const list = warnings.length === 0 ? '[]' : `["${warnings.join('","')}"]`
  const stale = grade === 'D' ? ',"warning":"stale_data"' : ''
  return (
    `"data_age_seconds":${seconds(dataAgeMs)}${stale},"warnings":${list}` +
    `,"quality":{"grade":"${grade}","coverage_pct":${thousandths(basis.coveragePct)}` +
    `,"reasons":${list}}`
  )
}

function requestedMembers(member: string, { ticker, unitMultiplier }: RequestedCoin): string {
  const text = JSON.stringify(ticker).replace(/[^\x20-\x7e]/g, unicodeEscape)
  return `,"${member}":${text},"unit_multiplier":${unitMultiplier}`
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The division comes last, so that at most three decimals are printed. */
function seconds(ms: number): string {
  return String(Math.round(ms) / 1000)
}

function thousandths(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}
