/** Time as an argument. Only `roles` creates a real clock; tests advance a manual one. */
export type Clock = {
  /** Unix time, milliseconds. */
  nowMs(): number
  /** Runs `task` once after `delayMs`. @returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void
  /** Runs `task` every `periodMs`. @returns a function that stops it. */
  every(periodMs: number, task: () => void): () => void
}
