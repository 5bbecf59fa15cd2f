import { parsedJson } from '../domain/json.ts'
import { printable } from '../domain/printable.ts'

const TOKEN =
  /(?<string>"[^"\\]*(?:\\.[^"\\]*)*")(?<colon>\s*:)?|(?<number>-?\d[\d.eE+-]*)|[{}[\]]/g
/** Answers have ten; `JSON.stringify` ends with an error at some thousand. */
const LEVELS_MAX = 100

/**
 * What other readers of a JSON text could take for another value than `JSON.parse`, so that a signed value could hide it:
 * a name that an object has twice (`JSON.parse` keeps the last value, others the first: RFC 8259, section 4), and a number
 * beyond the range of a double, which would be signed as null.
 * @returns null for none, and for text that is not JSON
 */
export function jsonFault(text: string): string | null {
  if (parsedJson(text) === undefined) return null
  const open: Set<string>[] = []
  for (const [token, string = '', colon, number] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      if (open.push(new Set()) > LEVELS_MAX) return `is nested more than ${LEVELS_MAX} levels deep`
    } else if (token === '}' || token === ']') open.pop()
    else if (number !== undefined) {
      if (!Number.isFinite(Number(number)))
        return `has the number ${number.slice(0, 40)}, which is not finite`
    } else if (colon !== undefined) {
      const name: string = JSON.parse(string)
      const names = open.at(-1)
      if (names?.has(name)) return `names ${JSON.stringify(printable(name))} twice`
      names?.add(name)
    }
  }
  return null
}
