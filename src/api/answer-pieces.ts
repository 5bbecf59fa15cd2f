import type { Slot } from '../domain/document.ts'

/** U+0001 marks a slot: no rendered text contains it, and JSON escapes it. */
const MARK = '\u0001'
const MARKED = /(,?)"\\u0001(\d+)"(:0)?/g

/** An answer with marks in place of its slots. */
export type ParsedPieces = { readonly answer: unknown; readonly slots: readonly Slot[] }

/** @param pieces text with one character per byte, and slots */
export function parsedPieces(pieces: readonly (string | Slot)[]): ParsedPieces {
  const slots: Slot[] = []
  const marked = pieces.map((piece) => {
    if (typeof piece === 'string') return piece
    slots.push(piece)
    return markOf(piece, slots.length - 1)
  })
  const answer: unknown = JSON.parse(Buffer.from(marked.join(''), 'latin1').toString('utf8'))
  return { answer, slots }
}

/** The reverse, for a whole answer or a part of it. */
export function piecesOf(answer: unknown, slots: readonly Slot[]): readonly (string | Slot)[] {
  const text = Buffer.from(JSON.stringify(answer)).toString('latin1')
  const pieces: (string | Slot)[] = []
  let from = 0
  for (const { 0: mark, 1: comma = '', 2: index, index: at } of text.matchAll(MARKED)) {
    const slot = slots[Number(index)]
    if (slot === undefined) continue
    const bringsComma = slot.kind === 'requested-coin'
    pieces.push(text.slice(from, bringsComma ? at : at + comma.length), slot)
    from = at + mark.length
  }
  return [...pieces, text.slice(from)]
}

/** Whether a member stands for those that a slot writes. */
export function isMark(name: string): boolean {
  return name.startsWith(MARK)
}

/** The slot of a mark. */
export function slotOf(mark: string, slots: readonly Slot[]): Slot | undefined {
  return slots[Number(mark.slice(MARK.length))]
}

/** The mark as a value or a member; with a comma if the slot writes one. */
function markOf({ kind }: Slot, index: number): string {
  const mark = JSON.stringify(`${MARK}${index}`)
  if (kind === 'freshness') return `${mark}:0`
  return kind === 'requested-coin' ? `,${mark}:0` : mark
}
