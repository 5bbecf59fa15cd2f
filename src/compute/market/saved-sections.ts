const NAME_LENGTH_MAX = 100

/** Joins named arrays: each is a section with the characters of its name and a section with its numbers. */
export function joinNamed(sections: ReadonlyMap<string, ArrayLike<number>>): Float64Array {
  return joinSections(
    Array.from(sections, ([name, numbers]) => [charactersOf(name), numbers]).flat(),
  )
}

/** @returns null for numbers that {@link joinNamed} did not produce */
export function splitNamed(joined: Float64Array): ReadonlyMap<string, Float64Array> | null {
  const sections = splitSections(joined)
  if (sections === null || sections.length % 2 !== 0) return null
  const named = new Map<string, Float64Array>()
  for (let at = 0; at < sections.length; at += 2) {
    const characters = sections[at] as Float64Array
    if (characters.length > NAME_LENGTH_MAX) return null
    named.set(textOf(characters), sections[at + 1] as Float64Array)
  }
  return named
}

export function charactersOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.charCodeAt(0))
}

export function textOf(characters: Iterable<number>): string {
  return String.fromCharCode(...characters)
}

/** Joins arrays, each preceded by its length. */
export function joinSections(sections: readonly ArrayLike<number>[]): Float64Array {
  const length = sections.reduce((sum, section) => sum + 1 + section.length, 0)
  const joined = new Float64Array(length)
  let at = 0
  for (const section of sections) {
    joined[at] = section.length
    joined.set(section, at + 1)
    at += 1 + section.length
  }
  return joined
}

/** @returns null for numbers that {@link joinSections} did not produce */
export function splitSections(joined: Float64Array): readonly Float64Array[] | null {
  const sections: Float64Array[] = []
  let at = 0
  while (at < joined.length) {
    const length = joined[at] as number
    if (!(Number.isInteger(length) && length >= 0) || at + 1 + length > joined.length) return null
    sections.push(joined.subarray(at + 1, at + 1 + length))
    at += 1 + length
  }
  return sections
}
