import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { contracts } from '../compute/analyses/registry.ts'
import type { Clock } from '../domain/clock.ts'
import type { Document } from '../domain/document.ts'
import { subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import { DocumentStore } from '../store/document-store.ts'
import { isDamage, setSqliteFileAside } from '../store/sqlite-file.ts'
import type { FileSync } from '../store/wal-copy.ts'
import { isToBeReopened } from '../store/wal-copy.ts'
import { SlicedWork } from './sliced-work.ts'

/** They are ten times as long as a checkpoint, and most of them can be made anew of it. */
const PERIOD_MS = 60_000
const SLICE_GAP_MS = 20
/**
 * What is older is not told again: an answer has words about its sources that were true then. What a checkpoint or
 * history can answer is there within seconds anyway.
 */
const REMEMBERED_MS_MAX = 15 * 60_000

type Options = {
  readonly dataDir: string
  readonly version: string
  /** The engine before ended a moment ago. */
  readonly isRestart?: boolean
  /** Our clock was moved since. */
  readonly isClockNew?: boolean
}

/**
 * Keeps what an engine publishes for the one after it. It makes a restart quicker and nothing else, so whatever
 * fails of it is logged, and the engine goes on without.
 */
export class DocumentKeeper {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #options: Options
  readonly #sync: FileSync | undefined
  readonly #saving: SlicedWork
  readonly #stopTimer: () => void
  readonly #path: string
  #store: DocumentStore | null
  /** The last list of coins, until a save has looked at it. */
  #listed: ReadonlySet<string> | null = null

  constructor(options: Options, clock: Clock, sync: FileSync | undefined, log: Logger) {
    this.#log = log
    this.#clock = clock
    this.#options = options
    this.#path = join(options.dataDir, 'documents.db')
    this.#sync = sync
    this.#store = this.#opened(false)
    this.#saving = new SlicedWork(clock, SLICE_GAP_MS, {
      begin: () => this.#save(),
      onFailed: (cause) => log.error({ err: cause }, 'documents not saved; tried again'),
    })
    this.#stopTimer = clock.every(PERIOD_MS, () => this.#saving.run())
  }

  /**
   * What was published a short while ago, of these coins and of the whole market. Nothing where an engine died
   * and its gateways live: they have it.
   */
  *remembered(coins: readonly string[]): Generator<Document> {
    if (this.#store === null || this.#options.isRestart === true) return
    const subjects = new Set([...coins, WHOLE_MARKET])
    const fromMs = this.#clock.nowMs() - REMEMBERED_MS_MAX
    try {
      for (const document of this.#store.load())
        if (subjects.has(subjectOf(document.key)) && document.renderedAtMs >= fromMs) yield document
    } catch (cause) {
      this.#log.error({ err: cause }, 'documents of before cannot be read')
    }
  }

  add(documents: readonly Document[]): void {
    this.#store?.add(documents)
  }

  /** Those of all other coins are forgotten with the next save. */
  list(coins: readonly string[]): void {
    this.#listed = new Set(coins)
  }

  /** Saves the last of them. */
  stop(): void {
    this.#stopTimer()
    this.#saving.stop()
    try {
      this.#store?.close()
    } catch (cause) {
      this.#log.error({ err: cause }, 'the last documents are not saved')
    }
  }

  *#save(): Generator<unknown> {
    // Another engine that was just ending may have held the file, or the disk was full.
    this.#store ??= this.#opened(true)
    const store = this.#store
    if (store === null) return
    try {
      yield* store.save()
      const listed = this.#listed
      this.#listed = null
      if (listed !== null) yield* store.retain(listed)
    } catch (cause) {
      if (isDamage(cause) || isToBeReopened(cause)) this.#leave(store, cause)
      throw cause
    }
  }

  /** What waits goes into the file that is there now; what was in a damaged one is lost, which costs seconds. */
  #leave(store: DocumentStore, cause: Error): void {
    this.#store = null
    try {
      store.close()
    } catch {
      // It is closed all the same, and why it cannot save is known.
    }
    if (isDamage(cause)) {
      const setAside = setSqliteFileAside(this.#path, this.#clock.nowMs())
      this.#log.warn({ setAside }, 'documents of before have been set aside')
    }
    this.#store = this.#opened(true)
    this.#store?.add(store.unsaved)
  }

  #opened(isAtWork: boolean): DocumentStore | null {
    const { version, isClockNew = false } = this.#options
    const options = {
      path: this.#path,
      maker: `${version}/${contractsDigest}`,
      isClockNew,
      isAtWork,
      sync: this.#sync,
    }
    try {
      const { db, setAside } = DocumentStore.open(options, this.#clock.nowMs())
      if (setAside !== null) this.#log.warn({ setAside }, 'documents of before have been set aside')
      return db
    } catch (cause) {
      this.#log.error(
        { err: cause },
        'documents are not saved; a restart takes longer to answer all',
      )
      return null
    }
  }
}

/** Not every change of what is sold has a version of its own. */
const contractsDigest = crc32(
  JSON.stringify(contracts, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
).toString(36)
