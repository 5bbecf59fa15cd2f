import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../domain/clock.ts'
import type { Document } from '../domain/document.ts'
import { subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import { DocumentStore } from '../store/document-store.ts'
import type { FileSync } from '../store/wal-copy.ts'
import type { EngineOptions } from './engine.ts'
import { SlicedWork } from './sliced-work.ts'

/** They are ten times as long as a checkpoint, and most of them can be made anew of it. */
const PERIOD_MS = 60_000
const SLICE_GAP_MS = 20

type Options = Pick<EngineOptions, 'dataDir' | 'version' | 'isRestart' | 'isClockNew'>

/**
 * Keeps what an engine publishes for the one after it. It makes a restart quicker and nothing else, so whatever
 * fails of it is logged, and the engine goes on without.
 */
export class DocumentKeeper {
  readonly #log: Logger
  readonly #store: DocumentStore | null
  readonly #isRestart: boolean
  readonly #saving: SlicedWork | null
  readonly #stopTimer: () => void

  constructor(options: Options, clock: Clock, sync: FileSync | undefined, log: Logger) {
    this.#log = log
    this.#isRestart = options.isRestart ?? false
    const store = openStore(options, clock.nowMs(), sync, log)
    this.#store = store
    this.#saving =
      store &&
      new SlicedWork(clock, SLICE_GAP_MS, {
        begin: () => store.save(),
        onFailed: (cause) => log.error({ err: cause }, 'documents not saved; tried again'),
      })
    this.#stopTimer = clock.every(PERIOD_MS, () => this.#saving?.run())
  }

  /**
   * What was published before, of these coins and of the whole market. Nothing where an engine died and its
   * gateways live: they have it.
   */
  remembered(coins: readonly string[]): readonly Document[] {
    if (this.#store === null || this.#isRestart) return []
    const subjects = new Set([...coins, WHOLE_MARKET])
    try {
      return this.#store.load().filter(({ key }) => subjects.has(subjectOf(key)))
    } catch (cause) {
      this.#log.error({ err: cause }, 'documents of before cannot be read')
      return []
    }
  }

  add(documents: readonly Document[]): void {
    this.#store?.add(documents)
  }

  /** Saves the last of them. */
  stop(): void {
    this.#stopTimer()
    this.#saving?.stop()
    try {
      this.#store?.close()
    } catch (cause) {
      this.#log.error({ err: cause }, 'the last documents are not saved')
    }
  }
}

function openStore(
  { dataDir, version: engineVersion, isClockNew = false }: Options,
  nowMs: number,
  sync: FileSync | undefined,
  log: Logger,
): DocumentStore | null {
  const path = join(dataDir, 'documents.db')
  try {
    const { db, setAside } = DocumentStore.open({ path, engineVersion, isClockNew, sync }, nowMs)
    if (setAside !== null) log.warn({ setAside }, 'documents of before have been set aside')
    return db
  } catch (cause) {
    log.error({ err: cause }, 'documents are not saved; a restart takes longer to answer all')
    return null
  }
}
