/**
 * Time as an argument: what reads the clock or waits gets one of these. Only `roles` makes a real
 * one; tests pass a clock that they move by hand.
 */
export type Clock = {
  /** Unix time, milliseconds. */
  nowMs(): number
  /** Runs `task` once after `delayMs`. @returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void
  /** Runs `task` every `periodMs`. @returns a function that stops it. */
  every(periodMs: number, task: () => void): () => void
}
