import { isRecord, parsedJson } from '../../domain/json.ts'

/** An object of a text, and the line that it begins on. */
export type TextObject = {
  readonly value: Readonly<Record<string, unknown>>
  readonly line: number
}

/**
 * The objects of JSON lines or of one JSON array, with their line numbers, which JSON.parse does not report.
 * @throws what `problemAt` makes of a line and what is wrong there
 */
export function jsonObjects(
  text: string,
  problemAt: (line: number, problem: string) => Error,
): readonly TextObject[] {
  const objects: TextObject[] = []
  let line = 1
  let depth = 0
  let isInString = false
  let start = 0
  let startLine = 1
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (character === '\n') line++
    if (isInString) {
      if (character === '\\') at++
      else if (character === '"') isInString = false
    } else if (depth === 0 && character === '{') {
      start = at
      startLine = line
      depth = 1
    } else if (depth === 0) {
      if (!/[\s,[\]\uFEFF]/.test(character)) {
        throw problemAt(line, `an object was expected, not ${JSON.stringify(character)}`)
      }
    } else if (character === '"') {
      isInString = true
    } else if (character === '{') {
      depth++
    } else if (character === '}') {
      depth--
      if (depth === 0) {
        const value = parsedJson(text.slice(start, at + 1))
        if (!isRecord(value)) throw problemAt(startLine, 'this is not JSON')
        objects.push({ value, line: startLine })
      }
    }
  }
  if (depth > 0) throw problemAt(startLine, 'this object does not end')
  return objects
}
