const VERSIONS_PER_MS = 1_000
/** More than are assigned between two checkpoints, of which the last may not have been written. */
const UNSAVED_VERSIONS = 60_000 * VERSIONS_PER_MS

/** Assigns rising versions, also across restarts. */
export class DocumentVersions {
  #newest = 0

  get newest(): number {
    return this.#newest
  }

  /** Based on time, so that versions rise even where no checkpoint was written. */
  next(nowMs: number): number {
    this.#newest = Math.max(this.#newest + 1, nowMs * VERSIONS_PER_MS)
    return this.#newest
  }

  /** @param saved the newest version of a checkpoint */
  restore(saved: number): void {
    this.#newest = saved + UNSAVED_VERSIONS
  }
}
