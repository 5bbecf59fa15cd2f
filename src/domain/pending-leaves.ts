import type { LeafKind, ProofLog } from './answer-proof.ts'
import { leafKinds } from './answer-proof.ts'

/** Leaves that may wait for the log: minutes of a gateway at its full speed. */
const WAITING_MAX = 20_000

/**
 * Leaves on their way to the proof log. A sale never waits for it; leaves that cannot be written are written with the
 * next ones.
 */
export class PendingLeaves {
  readonly #log: ProofLog
  readonly #onFailure: (cause: unknown) => void
  readonly #waiting: Record<LeafKind, Uint8Array[]> = { answer: [], claim: [] }
  #writing: Promise<void> | null = null
  #dropped = 0

  constructor(log: ProofLog, onFailure: (cause: unknown) => void) {
    this.#log = log
    this.#onFailure = onFailure
  }

  /** Leaves that were lost because too many waited. */
  get dropped(): number {
    return this.#dropped
  }

  add(kind: LeafKind, digests: readonly Uint8Array[]): void {
    const waiting = this.#waiting[kind]
    waiting.push(...digests)
    this.#dropped += waiting.splice(0, Math.max(0, waiting.length - WAITING_MAX)).length
    void this.written()
  }

  /** Writes what waits, again after a failure. @returns when nothing waits, or a write has failed */
  written(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    // Of every kind again: leaves of one arrive while those of another are written.
    for (let kind = this.#nextKind(); kind !== undefined; kind = this.#nextKind()) {
      const digests = [...this.#waiting[kind]]
      try {
        await this.#log.add(kind, digests)
      } catch (cause) {
        this.#onFailure(cause)
        return
      }
      const written = new Set(digests)
      this.#waiting[kind] = this.#waiting[kind].filter((digest) => !written.has(digest))
    }
  }

  #nextKind(): LeafKind | undefined {
    return leafKinds.find((kind) => this.#waiting[kind].length > 0)
  }
}
