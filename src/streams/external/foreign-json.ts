/** JSON that somebody else wrote: every member may be missing or of any type. */
export type ForeignObject = Readonly<Record<string, unknown>>

/** @returns undefined for what is no JSON, or longer than it may be */
export function parseForeign(text: string, charsMax: number): unknown {
  if (text.length > charsMax) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object, not a list. */
export function isForeignObject(value: unknown): value is ForeignObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A member of its own, so that no name reaches what every object inherits. */
export function ownMember(value: unknown, name: string): unknown {
  return isForeignObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A list of at most so many; everything else is an empty one. */
export function foreignList(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : []
}
