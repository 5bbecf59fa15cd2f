import { DECIMAL_LENGTH_MAX } from './values.ts'

/** What no frame holds: the reader loses its way there. */
const END = 0
const QUOTE = 0x22
const DOT = 0x2e
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
export const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
const SMALL_N = 0x6e
const SMALL_X = 0x78
export const COMMA = 0x2c
export const LEFT_BRACKET = 0x5b
export const RIGHT_BRACKET = 0x5d
export const LEFT_BRACE = 0x7b
export const RIGHT_BRACE = 0x7d

/** ASCII characters of a word that its code tells exactly: 7 bits each. */
const CODED_LENGTH_MAX = 7
const CHARACTER_CODES = 128
/** The code of a longer word. */
const OTHER = -1

/** A short word as a number: comparing those costs a fraction of comparing strings that were cut from the frame. */
export function codeOf(word: string): number {
  let code = 0
  for (let at = 0; at < word.length; at += 1) code = code * CHARACTER_CODES + word.charCodeAt(at)
  return code
}

export const NO_NAME = codeOf('')

/** Digits that a double holds exactly: of more, only `Number` knows the nearest. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent)
/** `0x` and forty digits. */
const ADDRESS_LENGTH = 42
const DEPTH_MAX = 4
const NULL = charactersOf('null')

/** The characters of the frame that is read now, and a zero: looked up sooner here than in a string. */
const characters = new Uint8Array(256 * 1024)
const encoder = new TextEncoder()

/** For {@link FrameReader.skipText}. */
export function charactersOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function characterAt(at: number): number {
  return characters[at] as number
}

/**
 * Compact JSON of ASCII characters, read from left to right. After anything that it does not take it stands still
 * for good, so that a caller may ask at the end alone. There is one at a time: the next one takes the place of the
 * characters of this.
 */
export class FrameReader {
  readonly #text: string
  #at: number
  #isLost = false

  private constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  /** @returns null for a frame that is too long, or not of ASCII characters alone */
  static of(text: string, at: number): FrameReader | null {
    if (text.length >= characters.length) return null
    const { read, written } = encoder.encodeInto(text, characters)
    // Any other character takes more bytes than it counts.
    if (read !== text.length || written !== text.length) return null
    characters[text.length] = END
    return new FrameReader(text, at)
  }

  skip(code: number): boolean {
    if (this.#isLost || characterAt(this.#at) !== code) return false
    this.#at += 1
    return true
  }

  /** All of it, or nothing. */
  skipText(text: Uint8Array): boolean {
    const from = this.#at
    if (this.#isLost) return false
    for (let at = 0; at < text.length; at += 1)
      if (characterAt(from + at) !== text[at]) return false
    this.#at = from + text.length
    return true
  }

  /** Whether the frame ends here, as it should, and nothing in it was strange. */
  isEnd(): boolean {
    return this.skip(RIGHT_BRACE) && this.#at === this.#text.length
  }

  /** The code of the next member's name, after the colon behind it; {@link NO_NAME} where there is none. */
  name(): number {
    const name = this.word()
    return this.skip(COLON) ? name : NO_NAME
  }

  /** The code of a string without escapes; the same one for all that are too long to have their own. */
  word(): number {
    if (!this.skip(QUOTE)) return this.#lose()
    const from = this.#at
    let at = from
    let code = 0
    for (let next = characterAt(at); next !== QUOTE; next = characterAt(++at)) {
      if (next < SPACE || next === BACKSLASH) return this.#lose()
      code = code * CHARACTER_CODES + next
    }
    this.#at = at + 1
    return at - from > CODED_LENGTH_MAX ? OTHER : code
  }

  /** A string without escapes. */
  string(): string {
    const from = this.#at + 1
    return this.#skipString() ? this.#text.slice(from, this.#at - 1) : ''
  }

  /** A string that holds an address, in lower case. */
  address(): string {
    const text = this.#text
    const from = this.#at + 1
    const to = from + ADDRESS_LENGTH
    const isFramed = this.skip(QUOTE) && characterAt(to) === QUOTE
    const isPrefixed = characterAt(from) === ZERO && characterAt(from + 1) === SMALL_X
    if (!isFramed || !isPrefixed || !isLowerHex(from + 2, to)) {
      this.#lose()
      return ''
    }
    this.#at = to + 1
    return text.slice(from, to)
  }

  /** A string that holds a plain decimal without a sign. */
  decimal(): number {
    return this.skip(QUOTE) ? this.#digits(this.#at) : this.#lose()
  }

  signedDecimal(): number {
    if (!this.skip(QUOTE)) return this.#lose()
    const from = this.#at
    return this.skip(MINUS) ? -this.#digits(from) : this.#digits(from)
  }

  skipNull(): boolean {
    return characterAt(this.#at) === SMALL_N && this.skipText(NULL)
  }

  /** A non-negative integer. */
  integer(): number {
    const from = this.#at
    let at = from
    let value = 0
    let code = characterAt(at)
    for (; code >= ZERO && code <= NINE; code = characterAt(++at))
      value = value * 10 + (code - ZERO)
    const digits = at - from
    const isPadded = digits > 1 && characterAt(from) === ZERO
    const isExact = digits > 0 && value <= Number.MAX_SAFE_INTEGER
    if (this.#isLost || !isExact || isPadded) return this.#lose()
    this.#at = at
    return value
  }

  /** A string, a non-negative integer, `null`, or an array or object of such. */
  skipValue(depth = DEPTH_MAX): void {
    const code = characterAt(this.#at)
    if (code === QUOTE) this.#skipString()
    else if (code === LEFT_BRACKET || code === LEFT_BRACE) this.#skipNested(code, depth)
    else if (!this.skipNull()) this.integer()
  }

  #skipNested(start: number, depth: number): void {
    const end = start === LEFT_BRACKET ? RIGHT_BRACKET : RIGHT_BRACE
    if (depth === 0) this.#lose()
    if (!this.skip(start) || this.skip(end)) return
    do {
      if (start === LEFT_BRACE && this.name() === NO_NAME) this.#lose()
      this.skipValue(depth - 1)
    } while (this.skip(COMMA))
    if (!this.skip(end)) this.#lose()
  }

  /** @param from where the number begins, with its sign */
  #digits(from: number): number {
    const first = this.#at
    let at = first
    let mantissa = 0
    let digits = 0
    let decimals = 0
    let code = characterAt(at)
    for (; code >= ZERO && code <= NINE; code = characterAt(++at)) {
      mantissa = mantissa * 10 + (code - ZERO)
      digits += 1
    }
    if (code === DOT && digits > 0) {
      code = characterAt(++at)
      for (; code >= ZERO && code <= NINE; code = characterAt(++at)) {
        mantissa = mantissa * 10 + (code - ZERO)
        decimals += 1
      }
      if (decimals === 0) return this.#lose()
    }
    digits += decimals
    if (code !== QUOTE || digits === 0 || at - from > DECIMAL_LENGTH_MAX) return this.#lose()
    this.#at = at + 1
    if (digits > EXACT_DIGITS) return Number(this.#text.slice(first, at))
    // Both are exact, so their quotient is the double nearest to the decimal.
    return decimals === 0 ? mantissa : mantissa / (POWERS_OF_TEN[decimals] as number)
  }

  #skipString(): boolean {
    if (!this.skip(QUOTE)) return this.#lose() === 0
    let at = this.#at
    let code = characterAt(at)
    while (code !== QUOTE) {
      if (code < SPACE || code === BACKSLASH) return this.#lose() === 0
      code = characterAt(++at)
    }
    this.#at = at + 1
    return true
  }

  #lose(): number {
    this.#isLost = true
    return Number.NaN
  }
}

/** By a table: digits and letters come by chance, so half of the branches would be guessed wrong. */
function isLowerHex(from: number, to: number): boolean {
  let others = 0
  for (let at = from; at < to; at += 1) others += otherThanLowerHex[characterAt(at)] as number
  return others === 0
}

/** 1 for a character that is no digit of a lower-case hexadecimal number. */
const otherThanLowerHex = new Uint8Array(256).fill(1)
for (const digit of charactersOf('0123456789abcdef')) otherThanLowerHex[digit] = 0
