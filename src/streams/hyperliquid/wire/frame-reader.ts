import { DECIMAL_LENGTH_MAX } from './values.ts'

/** Terminates the buffer; no frame contains it. */
const END = 0
const QUOTE = 0x22
const DOT = 0x2e
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
const SMALL_N = 0x6e
const SMALL_X = 0x78
export const COMMA = 0x2c
export const LEFT_BRACKET = 0x5b
export const RIGHT_BRACKET = 0x5d
export const LEFT_BRACE = 0x7b
export const RIGHT_BRACE = 0x7d

/** Digits that a double holds exactly; `Number` rounds longer decimals correctly. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent)
/** `0x` and forty digits. */
const ADDRESS_LENGTH = 42
const DEPTH_MAX = 4
const encoder = new TextEncoder()
const NULL = encoder.encode('null')

/** The bytes of the present frame and a terminating zero: indexing bytes is faster than indexing a string. */
const characters = new Uint8Array(256 * 1024)

/** A name in quotes, for {@link FrameReader.skipText}. */
export function quoted(name: string, after = '', before = ''): Uint8Array {
  return encoder.encode(`${before}"${name}"${after}`)
}

function characterAt(at: number): number {
  return characters[at] as number
}

/**
 * Reads compact ASCII JSON from left to right. After the first unexpected character every further read fails, so a caller
 * may check once at the end. All readers share one buffer: a new one invalidates the one before.
 */
export class FrameReader {
  readonly #text: string
  #at: number
  #isLost = false

  private constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  /** @returns null for a frame that exceeds the buffer or contains a non-ASCII character */
  static of(text: string, at: number): FrameReader | null {
    if (text.length >= characters.length) return null
    const { read, written } = encoder.encodeInto(text, characters)
    // A non-ASCII character takes several bytes.
    if (read !== text.length || written !== text.length) return null
    characters[text.length] = END
    return new FrameReader(text, at)
  }

  skip(code: number): boolean {
    if (this.#isLost || characterAt(this.#at) !== code) return false
    this.#at += 1
    return true
  }

  /** Skips the text if it follows; otherwise does not move. */
  skipText(text: Uint8Array): boolean {
    const from = this.#at
    if (this.#isLost) return false
    for (let at = 0; at < text.length; at += 1)
      if (characterAt(from + at) !== text[at]) return false
    this.#at = from + text.length
    return true
  }

  /** Whether only the closing brace of the frame remains and every read succeeded. */
  isEnd(): boolean {
    return this.skip(RIGHT_BRACE) && this.#at === this.#text.length
  }

  /** A string without escapes. */
  string(): string {
    const from = this.#at + 1
    return this.#skipString() ? this.#text.slice(from, this.#at - 1) : ''
  }

  /** An account address in lower case. */
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

  /** A quoted decimal without a sign. */
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

  /** A member whose name is not needed. @returns false for what is no member */
  skipMember(): boolean {
    if (!this.#skipString() || !this.skip(COLON)) return false
    this.skipValue()
    return !this.#isLost
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
      if (start === LEFT_BRACE && !(this.#skipString() && this.skip(COLON))) this.#lose()
      this.skipValue(depth - 1)
    } while (this.skip(COMMA))
    if (!this.skip(end)) this.#lose()
  }

  /** @param from start of the number, sign included */
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
    // Both operands are exact, so the quotient is correctly rounded.
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

/** A table look-up: on random digits a branch is mispredicted half of the time. */
function isLowerHex(from: number, to: number): boolean {
  let others = 0
  for (let at = from; at < to; at += 1) others += otherThanLowerHex[characterAt(at)] as number
  return others === 0
}

/** 1 for a byte that is not a lower-case hexadecimal digit. */
const otherThanLowerHex = new Uint8Array(256).fill(1)
for (const digit of encoder.encode('0123456789abcdef')) otherThanLowerHex[digit] = 0
