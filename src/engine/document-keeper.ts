import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { documentContracts } from '../compute/analyses/registry.ts'
import type { Clock } from '../domain/clock.ts'
import { subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import type { PackedDocument } from '../domain/packed-document.ts'
import type { PlacedDocument } from '../domain/placed-document.ts'
import { DocumentStore } from '../store/document-store.ts'
import { isDamage, setSqliteFileAside } from '../store/sqlite-file.ts'
import type { WalCheckpointer } from '../store/wal-checkpoint.ts'
import { isFileGone } from '../store/wal-checkpoint.ts'
import { SlicedWork } from './sliced-work.ts'

/** Longer than for checkpoints: documents are ten times as large, and a checkpoint can reproduce most of them. */
const PERIOD_MS = 60_000
const SLICE_GAP_MS = 20
/**
 * Older documents are not sent again: they describe the state of their sources at that time. A checkpoint or history
 * reproduces their answers within seconds.
 */
const KEPT_MS_MAX = 15 * 60_000

type Options = {
  readonly dataDir: string
  readonly version: string
  /** The previous engine of this process ended shortly before. */
  readonly isRestart?: boolean
  /** The clock was set since the documents were saved. */
  readonly isClockNew?: boolean
}

/**
 * Saves the published documents for the next engine, which then answers sooner. A failure is logged, and the engine
 * continues without it.
 */
export class DocumentKeeper {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #options: Options
  readonly #checkpointer: WalCheckpointer | undefined
  readonly #saving: SlicedWork
  readonly #stopTimer: () => void
  readonly #path: string
  #store: DocumentStore | null
  /** The newest list of coins that no save has processed yet. */
  #listed: ReadonlySet<string> | null = null

  constructor(
    options: Options,
    clock: Clock,
    checkpointer: WalCheckpointer | undefined,
    log: Logger,
  ) {
    this.#log = log
    this.#clock = clock
    this.#options = options
    this.#path = join(options.dataDir, 'documents.db')
    this.#checkpointer = checkpointer
    this.#store = this.#opened(false)
    this.#saving = new SlicedWork(clock, SLICE_GAP_MS, {
      begin: () => this.#save(),
      onFailed: (cause) => log.error({ err: cause }, 'documents not saved; tried again'),
    })
    this.#stopTimer = clock.every(PERIOD_MS, () => this.#saving.run())
  }

  /**
   * Documents of the last minutes, of these coins and of the whole market. None after a restart of the engine alone,
   * because the gateway still has them.
   */
  *kept(coins: readonly string[]): Generator<PackedDocument> {
    if (this.#store === null || this.#options.isRestart === true) return
    const subjects = new Set([...coins, WHOLE_MARKET])
    const fromMs = this.#clock.nowMs() - KEPT_MS_MAX
    try {
      const onLeftOut = (key: string) =>
        this.#log.error({ key }, 'damaged document of the previous run has been left out')
      for (const document of this.#store.load(onLeftOut))
        if (subjects.has(subjectOf(document.key)) && document.renderedAtMs >= fromMs) yield document
    } catch (cause) {
      this.#log.error({ err: cause }, 'documents of the previous run cannot be read')
    }
  }

  add(documents: readonly (PackedDocument | PlacedDocument)[]): void {
    this.#store?.add(documents)
  }

  /** The next save deletes the documents of all other coins. */
  list(coins: readonly string[]): void {
    this.#listed = new Set(coins)
  }

  /** Saves the remaining documents. */
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
    // An engine that was about to end may have held the file, or the disk was full.
    this.#store ??= this.#opened(true)
    const store = this.#store
    if (store === null) return
    try {
      yield* store.save()
      if (this.#listed !== null) store.retain(this.#listed)
      this.#listed = null
    } catch (cause) {
      if (isDamage(cause) || isFileGone(cause)) this.#replace(store, cause)
      throw cause
    }
  }

  /** Opens the file again, or a new one if it is damaged, and queues the unsaved documents for it. */
  #replace(store: DocumentStore, cause: Error): void {
    this.#store = null
    try {
      store.close()
    } catch {
      // The database is closed nevertheless, and the reason is known.
    }
    if (isDamage(cause)) {
      const setAside = setSqliteFileAside(this.#path, this.#clock.nowMs())
      this.#log.warn({ setAside }, 'documents of the previous run have been set aside')
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
      checkpointer: this.#checkpointer,
    }
    try {
      const { db, setAside } = DocumentStore.open(options, this.#clock.nowMs())
      if (setAside !== null)
        this.#log.warn({ setAside }, 'documents of the previous run have been set aside')
      return db
    } catch (cause) {
      this.#log.error(
        { err: cause },
        'documents are not saved; after a restart answers are available later',
      )
      return null
    }
  }
}

/** Invalidates the documents when a contract changes without a new version of perpscope. */
const contractsDigest = crc32(
  JSON.stringify(documentContracts, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
).toString(36)
