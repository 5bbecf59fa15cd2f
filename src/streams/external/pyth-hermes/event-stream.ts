/** One event of a `text/event-stream` body. */
export type StreamedEvent = { readonly type: string; readonly data: string }

const BYTE_ORDER_MARK = '\uFEFF'
const LINE_END = /\r\n|\r|\n/

/**
 * Parser of server-sent events from a body in arbitrary pieces (HTML standard, section 9.2.6). Comments and
 * unknown fields are skipped. An event above the limit is dropped and counted, without being buffered.
 */
export class EventStream {
  readonly #charsMax: number
  /** Parts of the incomplete line. */
  #line: string[] = []
  #data: string[] = []
  #type = ''
  /** Buffered characters of the incomplete event. */
  #chars = 0
  #isFirstLine = true
  #isAfterReturn = false
  #isOversized = false
  #oversized = 0

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  /** Number of dropped events. */
  get oversized(): number {
    return this.#oversized
  }

  /** The events that this piece completes. */
  push(piece: string): readonly StreamedEvent[] {
    if (piece.length === 0) return []
    // A CRLF may be split between two pieces.
    const isCut = this.#isAfterReturn && piece.startsWith('\n')
    this.#isAfterReturn = piece.endsWith('\r')
    const parts = (isCut ? piece.slice(1) : piece).split(LINE_END)
    const events: StreamedEvent[] = []
    for (const [index, part] of parts.entries()) {
      this.#keep(part)
      if (index === parts.length - 1) break
      const event = this.#endLine()
      if (event !== null) events.push(event)
    }
    return events
  }

  #keep(part: string): void {
    if (part.length === 0) return
    this.#chars += part.length
    if (this.#chars > this.#charsMax) this.#isOversized = true
    if (this.#isOversized) {
      this.#data = []
      // Only whether the line is empty still matters.
      this.#line = ['.']
    } else this.#line.push(part)
  }

  /** @returns the event that a blank line completes */
  #endLine(): StreamedEvent | null {
    let line = this.#line.join('')
    this.#line = []
    if (this.#isFirstLine && line.startsWith(BYTE_ORDER_MARK)) line = line.slice(1)
    this.#isFirstLine = false
    if (line.length > 0) {
      if (!this.#isOversized) this.#readField(line)
      return null
    }
    return this.#endEvent()
  }

  #readField(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') this.#data.push(value)
    else {
      if (name === 'event') this.#type = value
      // Nothing of it is buffered: comments may be endless.
      this.#chars -= line.length
    }
  }

  #endEvent(): StreamedEvent | null {
    const event = { type: this.#type || 'message', data: this.#data.join('\n') }
    const isComplete = this.#data.length > 0 && !this.#isOversized
    if (this.#isOversized) this.#oversized += 1
    this.#data = []
    this.#type = ''
    this.#chars = 0
    this.#isOversized = false
    return isComplete ? event : null
  }
}
