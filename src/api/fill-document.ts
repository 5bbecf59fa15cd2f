import assert from 'node:assert/strict'
import type { Answer, Basis, Document, Input, Slot } from '../domain/document.ts'
import { rangeOf } from '../domain/document.ts'
import type { Selection } from './answer-selection.ts'
import { selectPieces } from './answer-selection.ts'
import { freshness } from './freshness.ts'

/** What the gateway knows at the moment of sending. */
export type FillFacts = {
  readonly nowMs: number
  readonly executionMs: number
  readonly coinsAvailable: number
  /** Set when the caller named the unscaled token of a coin that is quoted in thousands. */
  readonly requested?: RequestedCoin | undefined
  /** Our clock is known to be off. */
  readonly isClockOff?: boolean
}

export type RequestedCoin = { readonly ticker: string; readonly unitMultiplier: number }

/**
 * The bytes of one answer: rendered text with its slots filled. Nothing is parsed or serialised, and
 * copied once: V8 joins strings without copying, and a one-byte string becomes a Buffer in one go.
 * Readers of the same millisecond share the bytes, so nobody may change them.
 * @param selection the part of it that is wanted; null for all of it
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

type Template = {
  /**
   * The parts of an answer, with text as strings of one character per byte: no UTF-8 sequence is
   * read, so none can be cut or changed.
   */
  readonly pieces: readonly (string | Slot)[]
  facts: FillFacts
  filled: Buffer | null
  /** What callers wanted of it lately, by the key of their selection. */
  selected?: Map<string, Template>
}

/** Callers of one rendering seldom want many different parts of it. */
const SELECTED_MAX = 8

/** Lives as long as the document; a rendering that replaces it brings answers of its own. */
const templates = new WeakMap<Answer, Template>()

const noFacts: FillFacts = { nowMs: Number.NaN, executionMs: 0, coinsAvailable: 0 }

function templateOf(document: Document, answer: Answer): Template {
  const held = templates.get(answer)
  if (held !== undefined) return held
  const { buffer, byteOffset, length } = document.bytes
  const text = Buffer.from(buffer, byteOffset, length).toString('latin1')
  const pieceAt = (index: number): string | Slot | (string | Slot)[] => {
    const part = document.parts[index]
    assert(part !== undefined, `a view of ${document.key} names part ${index}`)
    if (part.kind === 'text') return text.slice(part.start, part.end)
    if (part.kind === 'choice') return text.slice(...rangeOf(part, answer))
    if (part.kind !== 'run') return part
    const { from, to } = part
    return Array.from({ length: to - from }, (_, at) => pieceAt(from + at)).flat()
  }
  const pieces = answer.parts.flatMap(pieceAt)
  const template: Template = { pieces, facts: noFacts, filled: null }
  templates.set(answer, template)
  return template
}

/** The parts of an answer that are wanted, found once for each rendering. */
function selectedTemplate(whole: Template, selection: Selection): Template {
  whole.selected ??= new Map()
  const { selected } = whole
  const held = selected.get(selection.key)
  if (held !== undefined) return held
  const pieces = selectPieces(whole.pieces, selection)
  const template: Template = { pieces, facts: noFacts, filled: null }
  const [oldest] = selected.keys()
  if (selected.size >= SELECTED_MAX && oldest !== undefined) selected.delete(oldest)
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

/** What a slot speaks of: the answer as a whole, or the component that it belongs to. */
function basisOf({ of }: { readonly of?: number }, document: Document, answer: Answer): Basis {
  if (of === undefined) return answer
  const component = answer.components?.[of]
  assert(component !== undefined, `a slot of ${document.key} names component ${of}`)
  return component
}

/** A loop, because a closure per slot would cost more than the search in a handful of inputs. */
function inputOf(basis: Basis, name: string): Input | undefined {
  for (const input of basis.inputs) if (input.name === name) return input
  return undefined
}

function freshnessMembers(
  document: Document,
  basis: Basis,
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

/** Division by 1,000 is the last step, so at most three decimals are printed. */
function seconds(ms: number): string {
  return String(Math.round(ms) / 1000)
}

function thousandths(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}
