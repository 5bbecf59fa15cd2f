const SECOND_MS = 1_000
const SECONDS = 60

/** Schedules each of many items once a minute, spread over the seconds by position. */
export class MinuteSchedule {
  readonly #minuteOf: number[] = []
  #second = Number.NaN;

  /** Items that are due since the last call. @param nowMs by our clock */
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
