import { parsedJson } from '../../domain/json.ts'
import { bits } from '../market/noise.ts'

const OVERSIZED_DIGITS = 100_000
const OVERSIZED_BYTES = 500_000
/** Placeholder for the replaced value; it does not occur in frames of the venue. */
const MARK = '\u0000'
const MARK_JSON = JSON.stringify(MARK)

/** JSON texts of values that are nowhere expected … */
const otherTypes = ['{}', '[]', 'true', 'null', '7', '"text"', '[null]'] as const
/** … and of numbers that no market has, some of which are not even JSON. */
const absurdNumbers = [
  'NaN',
  '-1',
  '1e308',
  '99999999999999999999',
  '"NaN"',
  '"-1.0"',
  '"0.0"',
  '"1e400"',
  '"Infinity"',
  '"0x10"',
  '" 1.0"',
  '""',
] as const

type Garbling = (text: string, key: number) => string

const garblings: readonly Garbling[] = [
  truncated,
  flipped,
  (text, key) => withOtherLeaf(text, key, otherTypes),
  (text, key) => withOtherLeaf(text, key, absurdNumbers),
  shifted,
  longLeaf,
  manyRows,
]

/**
 * A text of the venue as it never says it: cut off, a bit flipped, a value of another type, an absurd
 * number, a decimal point elsewhere, far too long. The same key garbles the same text in the same way. A flipped bit can turn a
 * digit into another, which nobody can notice.
 */
export function garbled(text: string, key: number): string {
  const garbling = garblings[bits(key, 0) % garblings.length] ?? truncated
  return garbling(text, key)
}

function truncated(text: string, key: number): string {
  return text.slice(0, bits(key, 1) % text.length)
}

function flipped(text: string, key: number): string {
  const at = bits(key, 1) % text.length
  // One of the low seven bits: ASCII stays ASCII, so the frame is still text.
  const code = text.charCodeAt(at) ^ (1 << (bits(key, 2) % 7))
  return text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
}

/** Well-formed, and thousands of times too much. */
function shifted(text: string, key: number): string {
  const decimals = [...text.matchAll(/"(\d+)\.(\d+)"/g)]
  const chosen = decimals[bits(key, 1) % Math.max(1, decimals.length)]
  if (chosen === undefined) return flipped(text, key)
  const [found, whole, part] = chosen
  return `${text.slice(0, chosen.index)}"${whole}${part}000.0"${text.slice(chosen.index + found.length)}`
}

function longLeaf(text: string, key: number): string {
  return withOtherLeaf(text, key, [`"${'9'.repeat(OVERSIZED_DIGITS)}"`])
}

/** The first list of rows is repeated until the text is far too long; where there is none, a leaf grows. */
function manyRows(text: string, key: number): string {
  const json = parsedJson(text)
  if (json === undefined) return truncated(text, key)
  const copies = Math.max(2, Math.floor(OVERSIZED_BYTES / text.length))
  let isRepeated = false
  const long = JSON.stringify(json, (_, value: unknown) => {
    if (isRepeated || !Array.isArray(value) || value.every(isLeaf)) return value
    isRepeated = true
    return Array.from({ length: copies }, () => value).flat()
  })
  return isRepeated ? long : longLeaf(text, key)
}

/** The text with one leaf replaced by one of `jsons`, never by what it is already. */
function withOtherLeaf(text: string, key: number, jsons: readonly string[]): string {
  const value = parsedJson(text)
  if (value === undefined) return truncated(text, key)
  let leaves = 0
  JSON.stringify(value, (_, part: unknown) => {
    if (isLeaf(part)) leaves++
    return part
  })
  const chosen = bits(key, 1) % Math.max(1, leaves)
  let before = 0
  let replaced = ''
  const marked = JSON.stringify(value, (_, part: unknown) => {
    if (!isLeaf(part) || before++ !== chosen) return part
    replaced = JSON.stringify(part)
    return MARK
  })
  const candidates = jsons.filter((json) => json !== replaced)
  const other = candidates[bits(key, 2) % candidates.length] ?? 'null'
  return marked.replace(MARK_JSON, () => other)
}

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}
