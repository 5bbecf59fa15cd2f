/** Whether an `If-None-Match` names an entity tag, by the weak comparison of RFC 9110, 13.1.2. */
export function isNamedBy(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((item) => {
    const candidate = item.trim()
    return candidate === '*' || opaque(candidate) === opaque(tag)
  })
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
