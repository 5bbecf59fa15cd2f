import type { Slot } from '../domain/document.ts'
import { isRecord } from '../domain/json.ts'
import { isMark, parsedPieces, slotOf } from './answer-pieces.ts'

/** The members of an answer by name. Those of a list are the members of all its items. */
export type Members = {
  readonly named: Map<string, Members>
  /** They write further members, by the moment and the caller. */
  readonly slots: Slot[]
}

/** A value without members: a figure, null or an empty list. */
const plain: Members = { named: new Map(), slots: [] }

/** @param pieces text with one character per byte, and slots */
export function membersIn(pieces: readonly (string | Slot)[]): Members {
  const { answer, slots } = parsedPieces(pieces)
  return withMembersOf(answer, plain, slots)
}

/**
 * Follows a path into an answer.
 * @param namesOf names that a slot writes
 * @returns the position of the first name that the answer lacks, with the names that it has there; null for none
 */
export function firstAbsent(
  members: Members,
  path: readonly string[],
  namesOf: (slot: Slot) => readonly string[],
): { readonly at: number; readonly names: readonly string[] } | null {
  let above = members
  for (const [at, name] of path.entries()) {
    // It has its value: below null or an empty list there is nothing.
    if (above === plain) return null
    const below = above.named.get(name)
    if (below === undefined) {
      const written = above.slots.flatMap(namesOf)
      return written.includes(name) ? null : { at, names: [...above.named.keys(), ...written] }
    }
    above = below
  }
  return null
}

/** Adds the members of a value to those of the values before it in a list. */
function withMembersOf(value: unknown, before: Members, slots: readonly Slot[]): Members {
  if (Array.isArray(value))
    return value.reduce((known: Members, item) => withMembersOf(item, known, slots), before)
  if (!isRecord(value)) return before
  const members: Members = before === plain ? { named: new Map(), slots: [] } : before
  for (const [name, member] of Object.entries(value)) {
    const slot = isMark(name) ? slotOf(name, slots) : undefined
    if (slot !== undefined) members.slots.push(slot)
    else {
      const known = members.named.get(name) ?? plain
      members.named.set(name, withMembersOf(member, known, slots))
    }
  }
  return members
}
