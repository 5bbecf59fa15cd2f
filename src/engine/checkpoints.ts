import type { Logger } from 'pino'
import type { Processor } from '../compute/processor.ts'
import type { Clock } from '../domain/clock.ts'
import type { CheckpointDb, CheckpointRow } from '../store/checkpoint-db.ts'
import { ROWS_PER_SLICE } from '../store/checkpoint-db.ts'
import type { CheckpointStore } from '../store/checkpoint-store.ts'
import type { HistoryStore } from '../store/history-store.ts'
import { SlicedWork } from './sliced-work.ts'

const PERIOD_MS = 10_000
const SLICE_GAP_MS = 20

type Options = {
  readonly processor: Processor
  readonly store: CheckpointStore
  readonly history: HistoryStore
  readonly clock: Clock
  readonly log: Logger
}

/** Why the last checkpoint is not on disk, and since when checkpoints fail. */
type CheckpointFault = { readonly reason: string; readonly sinceMs: number }

/**
 * Writes the state of the processor to disk every 10 s, in slices. History is written first: the feed does not
 * request a bar again that a checkpoint contains, so a checkpoint on disk must not contain a bar that history lacks.
 * Exception: if history cannot be written, the checkpoint is still written; an older one would lose newer claims. If the
 * engine is then killed, bars that wait for the disk are missing from history. Resolved claims are not: they stay in the
 * checkpoint until history has stored them.
 */
export class Checkpoints {
  readonly #options: Options
  readonly #work: SlicedWork
  #stopTimer = () => {}
  #fault: CheckpointFault | null = null

  constructor(options: Options) {
    this.#options = options
    const { clock, log } = options
    this.#work = new SlicedWork(clock, SLICE_GAP_MS, {
      begin: () => this.#write(),
      onFailed: (cause) => {
        const reason = `checkpoint: ${cause instanceof Error ? cause.message : String(cause)}`
        this.#fault = { reason, sinceMs: this.#fault?.sinceMs ?? clock.nowMs() }
        log.error({ err: cause }, 'checkpoint not written; the engine continues from memory')
      },
    })
  }

  get fault(): CheckpointFault | null {
    return this.#fault
  }

  /** Writes the first one now, so that document versions of this run are above those of earlier runs. */
  start(): void {
    this.#work.run()
    this.#stopTimer = this.#options.clock.every(PERIOD_MS, () => this.#work.run())
  }

  stop(): void {
    this.#stopTimer()
    this.#work.stop()
  }

  /** Writes everything at once and closes both files. A failure of one does not keep the other from being written. */
  close(): void {
    const { processor, store, history, clock } = this.#options
    this.#attempt('history', () => {
      history.add(processor.records.takeHistory())
      history.close(clock.nowMs())
    })
    this.#attempt('checkpoint', () => {
      const nowMs = clock.nowMs()
      store.close(processor.records.checkpoint(nowMs), nowMs)
    })
  }

  #attempt(what: string, task: () => void): void {
    try {
      task()
    } catch (cause) {
      this.#options.log.error({ err: cause }, `the last ${what} is not saved`)
    }
  }

  *#write(): Generator<unknown> {
    const { store, clock } = this.#options
    yield* store.write(
      (db) => this.#rows(db),
      () => clock.nowMs(),
    )
    this.#fault = null
  }

  /** Rows are built together with the history of the same instant, and written after it. */
  *#rows(db: CheckpointDb): Generator<unknown> {
    const { processor, history, clock } = this.#options
    const { records, view } = processor
    // Before `begin`: a file that rejects the checkpoint must not keep history from the disk.
    history.add(records.takeHistory())
    yield* history.write(clock.nowMs())
    db.begin(records)
    yield
    const names = records.names()
    for (let at = 0; at < names.length; at += ROWS_PER_SLICE) {
      const nowMs = clock.nowMs()
      history.add(records.takeHistory())
      const rows = names.slice(at, at + ROWS_PER_SLICE).flatMap((name): CheckpointRow[] => {
        const saved = records.row(name, nowMs)
        return saved === null ? [] : [[name, saved]]
      })
      yield* history.write(nowMs)
      db.put(rows)
      yield
    }
    // Before the first universe it is unknown which coins are delisted.
    if (view.tradable.length > 0) db.retain(new Set(records.names()))
    yield* history.tidy(clock.nowMs())
  }
}
