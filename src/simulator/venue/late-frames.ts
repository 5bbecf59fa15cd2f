/** Frames that were sent and have not arrived yet, in order. */
export class LateFrames {
  readonly #frames: { readonly text: string; readonly sentAtMs: number }[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#frames.length === 0
  }

  /** About: the venue's text is ASCII. */
  get bytes(): number {
    return this.#bytes
  }

  add(text: string, sentAtMs: number): void {
    this.#frames.push({ text, sentAtMs })
    this.#bytes += text.length
  }

  /** Takes out what was sent at that instant or before. */
  through(sentAtMs: number): readonly string[] {
    const waiting = this.#frames.findIndex((frame) => frame.sentAtMs > sentAtMs)
    const arrived = this.#frames.splice(0, waiting === -1 ? this.#frames.length : waiting)
    for (const { text } of arrived) this.#bytes -= text.length
    return arrived.map(({ text }) => text)
  }
}
