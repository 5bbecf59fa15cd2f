/** Every external source has reported by then. */
const GRACE_MS = 30_000

/**
 * The time after a restore in which inputs from before the restart may still arrive. A missing answer is not published
 * in it for what has not been answered since: the answer from before the restart stays, with its age.
 */
export class RestoreGrace {
  #restoredMs = Number.NEGATIVE_INFINITY

  begin(nowMs: number): void {
    this.#restoredMs = nowMs
  }

  isActive(nowMs: number): boolean {
    const passedMs = nowMs - this.#restoredMs
    return passedMs >= 0 && passedMs < GRACE_MS
  }
}
