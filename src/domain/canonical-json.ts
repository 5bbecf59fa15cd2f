/**
 * JSON in the canonical form of RFC 8785: no white space, members in the order of their UTF-16 code units. Strings and
 * numbers are written as ECMAScript does, which is what the RFC requires.
 * @param value parsed from JSON
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`)
  return `{${members.join()}}`
}
