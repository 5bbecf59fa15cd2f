const SECOND_MS = 1_000
const SECONDS = 60

/**
 * Once a minute for each of many, at a second of its own, so that they do not all come at once. It knows no
 * names: whoever is first in order has the first second.
 */
export class MinuteSchedule {
  readonly #minuteOf: number[] = []
  #second = Number.NaN;

  /** Those whose turn has come since the last call. @param nowMs by our clock */
  *due<Item>(items: Iterable<Item>, nowMs: number): Generator<Item> {
    const second = Math.floor(nowMs / SECOND_MS)
    if (second === this.#second) return
    this.#second = second
    const minute = Math.floor(second / SECONDS)
    let at = 0
    for (const item of items) {
      if (this.#minuteOf[at] !== minute && second % SECONDS >= at % SECONDS) {
        this.#minuteOf[at] = minute
        yield item
      }
      at += 1
    }
  }
}
