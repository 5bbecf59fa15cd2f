import type { Document, DocumentKey } from '../domain/document.ts'
import type { CheckpointDb } from './checkpoint-db.ts'

/** They are ten times as long as a checkpoint, and most of them can be made anew of it. */
const PERIOD_MS = 60_000
/** Written between two turns of the event loop. */
const PER_SLICE = 8

/** What an engine has published and not saved yet, the newest of each key. */
export class UnsavedDocuments {
  readonly #engineVersion: string
  readonly #documents = new Map<DocumentKey, Document>()
  #dueMs: number

  constructor(engineVersion: string, nowMs: number) {
    this.#engineVersion = engineVersion
    this.#dueMs = nowMs + PERIOD_MS
  }

  add(documents: readonly Document[]): void {
    for (const document of documents) this.#documents.set(document.key, document)
  }

  /** Once in a while, or at once for the last time. In slices, between which nothing else may be put. */
  *save(db: CheckpointDb, nowMs: number, isLast = false): Generator<unknown> {
    // Too far ahead: the clock was set back.
    const isDue = nowMs >= this.#dueMs || this.#dueMs - nowMs > PERIOD_MS
    if (!isDue && !isLast) return
    this.#dueMs = nowMs + PERIOD_MS
    const documents = [...this.#documents.values()]
    for (let at = 0; at < documents.length; at += PER_SLICE) {
      const slice = documents.slice(at, at + PER_SLICE)
      db.putDocuments(slice, this.#engineVersion)
      for (const document of slice) this.#saved(document)
      yield
      yield* db.copyLongLog()
    }
  }

  /** A newer one that came meanwhile stays. */
  #saved(document: Document): void {
    if (this.#documents.get(document.key) === document) this.#documents.delete(document.key)
  }
}
