import Database from 'better-sqlite3'
import type { Bar } from '../domain/bar.ts'
import { barFault } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import type { MeasureRow } from '../domain/external.ts'
import type { FundingRow, HistoryBatch, MarketSample, StoreHealth } from '../domain/history.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import type { BlockKind } from './history-block.ts'
import {
  BLOCK_NUMBER_MAX,
  blockKinds,
  blockNumber,
  eachRow,
  emptyBlock,
  keptMsOf,
  measureName,
  measureSeriesOf,
  overlay,
} from './history-block.ts'
import type { Patch } from './history-db.ts'
import { HistoryDb } from './history-db.ts'
import { HistoryQueue } from './history-queue.ts'
import { barOf, fundingOf, sampleOf } from './history-row.ts'
import { isDamage, NotBegunError, releaseBlob, setSqliteFileAside } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { isFileGone } from './wal-checkpoint.ts'

/** Blocks in one transaction, about 1 ms. */
const BLOCKS_PER_SLICE = 16

/** Claims in one transaction. */
const CLAIMS_PER_SLICE = 256

/** Slices of the check in one call of `tidy`; a whole check takes some ten calls. */
const CHECK_SLICES_PER_TURN = 100

const nothing: HistoryBatch = { bars: [], samples: [], fundings: [], measures: [], droppedRows: 0 }

/** Wait before a file that could not be opened, or that was gone, is opened again. */
const REOPEN_MS = 60_000

const HOUR_MS = 3_600_000

/** The kind of work of a slice. */
export type HistorySlice = 'merged' | 'removed' | 'checked'

export type HistoryNotice =
  /** A damaged file was moved, and a new one begun. */
  | { readonly kind: 'set-aside'; readonly path: string; readonly reason: string }
  /** Damaged blocks since the start. They count as never written. */
  | { readonly kind: 'damaged'; readonly blocks: number }
  | { readonly kind: 'degraded'; readonly reason: string }
  | { readonly kind: 'recovered'; readonly droppedRows: number }
  /** Rows that were lost at the end, because the disk did not take them. */
  | { readonly kind: 'unwritten'; readonly rows: number }

/** Resolved claims, oldest first, which their owner keeps until they are on disk. */
type ClaimSource = {
  readonly length: number
  /** Claims that are lost because the disk did not take them in time. */
  readonly dropped: number
  next(count: number): readonly ResolvedClaim[]
  /** The oldest ones are on disk. */
  remove(count: number): void
}

export type HistoryOptions = {
  readonly path: string
  readonly onNotice: (notice: HistoryNotice) => void
  /** Age at which rows are removed, if analyses do not read them longer. */
  readonly days?: number
  /** Maximum size of the file. */
  readonly pagesMax?: number
  readonly checkpointer?: WalCheckpointer | undefined
  readonly claims?: ClaimSource
}

/**
 * Closed bars, market samples, funding and measures on disk. New rows are readable before they are written. While the
 * disk is full, broken or gone, rows wait in memory, and {@link health} is degraded.
 */
export class HistoryStore {
  readonly #options: HistoryOptions
  readonly #queue = new HistoryQueue()
  #db: HistoryDb | null = null
  #nowMs: number
  /** Why nothing is written at present. */
  #reason: string | null = null
  #sinceMs: number
  #reopenAtMs = Number.NEGATIVE_INFINITY
  #check: Generator<void> | null = null
  /** Damaged blocks of files that were set aside. */
  #damagedBefore = 0
  #damagedKnown = 0
  #setAsideFiles = 0
  #retainedHourMs = Number.NaN

  constructor(options: HistoryOptions, nowMs: number) {
    this.#options = options
    this.#nowMs = nowMs
    this.#sinceMs = nowMs
    this.#open()
  }

  get #days(): number {
    return this.#options.days ?? 0
  }

  get health(): StoreHealth {
    return {
      state: this.#reason === null ? 'ok' : 'degraded',
      reason: this.#reason,
      sinceMs: this.#sinceMs,
      droppedRows: this.#droppedRows,
      damagedBlocks: this.#damagedKnown,
      setAsideFiles: this.#setAsideFiles,
    }
  }

  /** Adds rows. They are readable now, and on disk after a complete {@link write}. */
  add(batch: HistoryBatch): void {
    this.#queue.add(batch)
  }

  /** Adds settled funding, which replaces estimates. */
  addFundings(fundings: readonly FundingRow[]): void {
    this.#queue.add({ ...nothing, fundings })
  }

  /** Adds closed 1h bars of the venue. */
  addBars(coin: string, bars: readonly Bar[]): void {
    const fromMs = (bars.at(-1)?.openTimeMs ?? 0) - keptMsOf(blockKinds.bars, this.#days)
    const kept = bars.filter(({ openTimeMs }) => openTimeMs >= fromMs)
    const closed = kept.map((bar) => ({ coin, timeframe: '1h' as const, bar }))
    this.#queue.add({ ...nothing, bars: closed })
  }

  /**
   * Writes what is due, in slices. A failure of the disk ends it, and the next call tries again.
   * @param isAll also writes samples and measures that would wait for five minutes
   */
  *write(nowMs: number, isAll = false): Generator<HistorySlice> {
    this.#nowMs = nowMs
    if (this.#db === null && nowMs >= this.#reopenAtMs) this.#open()
    if (this.#db === null) return
    const { claims } = this.#options
    while (claims !== undefined && claims.length > 0) {
      if (!this.#attempt((db) => writeClaims(db, claims))) return
      yield 'merged'
    }
    const due = this.#queue.due(isAll || this.#reason !== null)
    for (let at = 0; at < due.length; at += BLOCKS_PER_SLICE) {
      const patches = due.slice(at, at + BLOCKS_PER_SLICE)
      if (!this.#attempt((db) => this.#merge(db, patches))) return
      yield 'merged'
    }
    if (this.#reason !== null) this.#recovered()
  }

  /** Removes old rows once an hour, and continues the check of the file, in slices. */
  *tidy(nowMs: number): Generator<HistorySlice> {
    this.#nowMs = nowMs
    yield* this.#retain()
    for (let slice = 0; slice < CHECK_SLICES_PER_TURN && this.#check !== null; slice += 1) {
      const check = this.#check
      this.#attempt(() => {
        if (check.next().done) this.#check = null
      })
      yield 'checked'
    }
  }

  /** Closed 1h bars, ascending. Bars that are missing or damaged are left out. */
  bars(coin: string, fromMs: number): Bar[] {
    const bars = this.#rows(coin, blockKinds.bars, fromMs, Number.POSITIVE_INFINITY, barOf)
    return bars.filter((bar) => barFault(bar) === null)
  }

  /** Ascending, both ends included: every minute for the last two days, every 15 minutes before. */
  samples(coin: string, fromMs: number, toMs: number): MarketSample[] {
    const dense = this.#samples(blockKinds.samples, coin, fromMs, toMs)
    const known = new Set(dense.map(({ timeMs }) => timeMs))
    const sparse = this.sparseSamples(coin, fromMs, toMs).filter(({ timeMs }) => !known.has(timeMs))
    return [...sparse, ...dense].sort((one, other) => one.timeMs - other.timeMs)
  }

  /** Ascending, both ends included, every 15 minutes. */
  sparseSamples(coin: string, fromMs: number, toMs: number): MarketSample[] {
    return this.#samples(blockKinds.sparseSamples, coin, fromMs, toMs)
  }

  /** Ascending, at whole hours: the settled rate if known, else the last estimate. */
  fundings(coin: string, fromMs: number): FundingRow[] {
    return this.#rows(
      ...([coin, blockKinds.fundings, fromMs, Number.POSITIVE_INFINITY] as const),
      (timeMs, numbers, at) => fundingOf(coin, timeMs, numbers, at),
    )
  }

  /** Names of all measures that were ever kept, ascending; some may have no rows left. */
  measureSeries(): readonly string[] {
    const names = new Set(this.#queue.names())
    this.#attempt((db) => {
      for (const name of db.names()) names.add(name)
    })
    return Array.from(names, measureSeriesOf)
      .filter((series) => series !== null)
      .sort()
  }

  /** Ascending, at whole minutes, both ends included. */
  measures(series: string, fromMs: number, toMs: number): MeasureRow[] {
    return this.#rows(
      ...([measureName(series), blockKinds.measures, fromMs, toMs] as const),
      (timeMs, numbers, at) => ({ timeMs, value: numbers[at] as number }),
    )
  }

  /**
   * Writes the remaining rows and claims, reports rows that cannot be written, and closes the file. Claims that cannot
   * be written stay with their owner.
   */
  close(nowMs: number): void {
    this.#writeLast(nowMs)
    // Once more into a new file, if the first attempt found the file lost.
    this.#writeLast(nowMs)
    const { rows } = this.#queue
    if (rows > 0) this.#options.onNotice({ kind: 'unwritten', rows })
    this.#db?.close()
    this.#db = null
  }

  #writeLast(nowMs: number): void {
    const waiting = this.#queue.rows + (this.#options.claims?.length ?? 0)
    if (waiting > 0) this.#reopenAtMs = nowMs
    for (const _ of this.write(nowMs, true));
  }

  #open(): void {
    this.#reopenAtMs = this.#nowMs + REOPEN_MS
    const { path } = this.#options
    try {
      const { db, setAside, reason } = HistoryDb.open(path, this.#nowMs, this.#options)
      this.#db = db
      this.#check = db.verify()
      if (setAside !== null && reason !== null) this.#noteSetAside(setAside, reason)
      this.#noteDamage()
    } catch (cause) {
      if (!(cause instanceof OperatingError)) throw cause
      if (cause instanceof NotBegunError) this.#noteSetAside(cause.setAside, cause.reason)
      this.#degraded(reasonOf(cause))
    }
  }

  /** Runs a task on the file. @returns false after a failure of the disk or a damage of the file */
  #attempt(task: (db: HistoryDb) => void): boolean {
    if (this.#db === null) return false
    try {
      task(this.#db)
      this.#noteDamage()
      return true
    } catch (cause) {
      if (isDamage(cause)) this.#beginAnew(cause.message)
      else if (isFileGone(cause)) this.#letGo(cause)
      else if (cause instanceof Database.SqliteError || cause instanceof OperatingError)
        this.#degraded(reasonOf(cause))
      else throw cause
      return false
    }
  }

  /** Moves the damaged file, and opens a new one. */
  #beginAnew(reason: string): void {
    const { path } = this.#options
    this.#closeFile()
    try {
      this.#noteSetAside(setSqliteFileAside(path, this.#nowMs), reason)
      this.#open()
    } catch (cause) {
      if (!(cause instanceof Error && 'syscall' in cause)) throw cause
      this.#degraded(`${reason}, and it cannot be moved: ${cause.message}`)
    }
  }

  /** Closes the file, and opens it again after {@link REOPEN_MS}. */
  #letGo(cause: Error): void {
    this.#closeFile()
    this.#reopenAtMs = this.#nowMs + REOPEN_MS
    this.#degraded(reasonOf(cause))
  }

  #closeFile(): void {
    this.#damagedBefore += this.#db?.damaged ?? 0
    this.#db?.close()
    this.#db = null
    this.#check = null
  }

  #merge(db: HistoryDb, patches: readonly Patch[]): void {
    db.merge(patches)
    this.#queue.remove(patches)
  }

  get #droppedRows(): number {
    return this.#queue.droppedRows + (this.#options.claims?.dropped ?? 0)
  }

  /** By the time of the bars, so that a step of the local clock deletes nothing. */
  *#retain(): Generator<HistorySlice> {
    const newestMs = this.#queue.newestBarEndMs
    const hourMs = Math.floor(newestMs / HOUR_MS) * HOUR_MS
    if (this.#db === null || Number.isNaN(hourMs) || hourMs === this.#retainedHourMs) return
    const removal = this.#db.retain(newestMs, this.#days)
    for (;;) {
      let isDone = false
      const isPossible = this.#attempt(() => {
        isDone = removal.next().done === true
      })
      if (!isPossible) return
      if (isDone) break
      yield 'removed'
    }
    this.#retainedHourMs = hourMs
  }

  #samples(kind: BlockKind, coin: string, fromMs: number, toMs: number): MarketSample[] {
    return this.#rows(coin, kind, fromMs, toMs, (timeMs, numbers, at) =>
      sampleOf(coin, timeMs, numbers, at),
    )
  }

  #rows<Row>(
    coin: string,
    kind: BlockKind,
    fromMs: number,
    toMs: number,
    rowOf: (timeMs: number, numbers: Float64Array, at: number) => Row,
  ): Row[] {
    const blocks = new Map<number, Float64Array>()
    const stored: Float64Array[] = []
    const first = Math.max(0, blockNumber(kind, fromMs))
    const last = Math.min(BLOCK_NUMBER_MAX, blockNumber(kind, toMs))
    this.#attempt((db) => {
      for (const { number, block } of db.read(coin, kind, first, last)) {
        stored.push(block)
        blocks.set(number, block)
      }
    })
    for (const patch of this.#queue.waiting(coin, kind)) {
      const { number } = patch
      if (number < first || number > last) continue
      const block = blocks.get(number) ?? emptyBlock()
      blocks.set(number, block)
      overlay(block, patch)
    }
    const rows: Row[] = []
    for (const [number, block] of [...blocks].sort(([one], [other]) => one - other)) {
      eachRow(block, kind, number, (timeMs, at) => {
        if (timeMs >= fromMs && timeMs <= toMs) rows.push(rowOf(timeMs, block, at))
      })
    }
    for (const block of stored) releaseBlob(block)
    return rows
  }

  #noteSetAside(path: string, reason: string): void {
    this.#setAsideFiles += 1
    this.#options.onNotice({ kind: 'set-aside', path, reason })
  }

  #noteDamage(): void {
    const blocks = this.#damagedBefore + (this.#db?.damaged ?? 0)
    if (blocks === this.#damagedKnown) return
    this.#damagedKnown = blocks
    this.#options.onNotice({ kind: 'damaged', blocks })
  }

  #degraded(reason: string): void {
    if (this.#reason === null) {
      this.#sinceMs = this.#nowMs
      this.#options.onNotice({ kind: 'degraded', reason })
    }
    this.#reason = reason
  }

  #recovered(): void {
    this.#reason = null
    this.#sinceMs = this.#nowMs
    this.#options.onNotice({ kind: 'recovered', droppedRows: this.#droppedRows })
  }
}

/** Claims are removed from their owner only after the transaction. */
function writeClaims(db: HistoryDb, claims: ClaimSource): void {
  const oldest = claims.next(CLAIMS_PER_SLICE)
  db.addClaims(oldest)
  claims.remove(oldest.length)
}

function reasonOf(error: Error): string {
  const { cause } = error
  const why = cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
  return error instanceof Database.SqliteError ? `${error.code}: ${why}` : why
}
