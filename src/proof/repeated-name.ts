import { parsedJson } from '../domain/json.ts'

const TOKEN = /(?<string>"[^"\\]*(?:\\.[^"\\]*)*")(?<colon>\s*:)?|[{}[\]]/g

/**
 * The first name that an object of a JSON text has twice. `JSON.parse` keeps the last of the values, other readers the
 * first (RFC 8259, section 4), so a signed value can hide another one.
 * @returns null for none, and for text that is not JSON
 */
export function repeatedName(text: string): string | null {
  if (parsedJson(text) === undefined) return null
  const open: Set<string>[] = []
  for (const [token, string = '', colon] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined) {
      const name: string = JSON.parse(string)
      const names = open.at(-1)
      if (names?.has(name)) return name
      names?.add(name)
    }
  }
  return null
}
