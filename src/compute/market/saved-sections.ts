/** Several runs of numbers as one, each behind its length. */
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

/** @returns null for numbers that {@link joinSections} did not give. */
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
