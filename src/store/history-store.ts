import Database from 'better-sqlite3'
import type { Bar } from '../domain/bar.ts'
import { barFault } from '../domain/bar.ts'
import { OperatingError } from '../domain/errors.ts'
import type { MeasureRow } from '../domain/external.ts'
import type { FundingRow, HistoryBatch, MarketSample, StoreHealth } from '../domain/history.ts'
import type { BlockKind } from './history-block.ts'
import {
  BLOCK_NUMBER_MAX,
  blockKinds,
  blockNumber,
  eachRow,
  measureName,
  measureSeriesOf,
  overlay,
} from './history-block.ts'
import type { Patch } from './history-db.ts'
import { HistoryDb } from './history-db.ts'
import { HistoryQueue } from './history-queue.ts'
import { barOf, fundingOf, sampleOf } from './history-row.ts'
import { HistorySalvage } from './history-salvage.ts'
import { isDamage, NotBegunError, releaseBlob, setSqliteFileAside } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { isFileGone } from './wal-checkpoint.ts'

/** Blocks in one transaction: about a millisecond. */
const BLOCKS_PER_SLICE = 16

/** Slices of the check that one call of `tidy` does; all of it takes some ten calls. */
const CHECK_SLICES_PER_TURN = 100

/** Slices of the salvage that one call of `tidy` does; all of it takes some twenty calls. */
const SALVAGE_SLICES_PER_TURN = 200

const nothing: HistoryBatch = { bars: [], samples: [], fundings: [], measures: [], droppedRows: 0 }

/** A file that could not be opened, or that was gone, is tried again after so long. */
const REOPEN_MS = 60_000

const HOUR_MS = 3_600_000

/** What a slice of work did. */
export type HistorySlice = 'merged' | 'removed' | 'salvaged' | 'checked'

export type HistoryNotice =
  /** The file could not be read any more, and was moved; history begins anew. */
  | { readonly kind: 'set-aside'; readonly path: string; readonly reason: string }
  /** So many blocks of the file that was moved are in the new one; there are no more, or no room for them. */
  | { readonly kind: 'salvaged'; readonly blocks: number }
  /** So many blocks, since the start, are not what was written. They count as never written. */
  | { readonly kind: 'damaged'; readonly blocks: number }
  | { readonly kind: 'degraded'; readonly reason: string }
  | { readonly kind: 'recovered'; readonly droppedRows: number }
  /** So many rows still waited for the disk at the end, and are lost. */
  | { readonly kind: 'unwritten'; readonly rows: number }

export type HistoryOptions = {
  readonly path: string
  readonly onNotice: (notice: HistoryNotice) => void
  /** Size of the file at most. */
  readonly pagesMax?: number
  readonly checkpointer?: WalCheckpointer | undefined
}

/**
 * Closed bars, market samples, funding and our own measures, on disk and readable again at once. A disk that is full,
 * broken or gone stops nothing: what cannot be written waits in memory, and {@link health} says so.
 * What was written survives a killed process; a power cut may take the last seconds.
 */
export class HistoryStore {
  readonly #options: HistoryOptions
  readonly #queue = new HistoryQueue()
  #db: HistoryDb | null = null
  #nowMs: number
  /** Why nothing is written for the time being. */
  #reason: string | null = null
  #sinceMs: number
  #reopenAtMs = Number.NEGATIVE_INFINITY
  #check: Generator<void> | null = null
  /** Of files that were set aside. */
  #damagedBefore = 0
  #damagedKnown = 0
  #setAsideFiles = 0
  /** The file that was set aside, until all that it still has was taken over. */
  #salvage: HistorySalvage | null = null
  #retainedHourMs = Number.NaN

  constructor(options: HistoryOptions, nowMs: number) {
    this.#options = options
    this.#nowMs = nowMs
    this.#sinceMs = nowMs
    this.#open()
  }

  get health(): StoreHealth {
    return {
      state: this.#reason === null ? 'ok' : 'degraded',
      reason: this.#reason,
      sinceMs: this.#sinceMs,
      droppedRows: this.#queue.droppedRows,
      damagedBlocks: this.#damagedKnown,
      setAsideFiles: this.#setAsideFiles,
    }
  }

  /** Takes rows. They can be read from now on, and are on disk after a whole {@link write}. */
  add(batch: HistoryBatch): void {
    this.#queue.add(batch)
  }

  /** Takes the venue's own records of funding, which replace estimates. */
  addFundings(fundings: readonly FundingRow[]): void {
    this.#queue.add({ ...nothing, fundings })
  }

  /** Takes closed 1h bars as the venue has them. */
  addBars(coin: string, bars: readonly Bar[]): void {
    const fromMs = (bars.at(-1)?.openTimeMs ?? 0) - blockKinds.bars.keptMs
    const kept = bars.filter(({ openTimeMs }) => openTimeMs >= fromMs)
    const closed = kept.map((bar) => ({ coin, timeframe: '1h' as const, bar }))
    this.#queue.add({ ...nothing, bars: closed })
  }

  /**
   * Writes what is due, in slices; the caller decides what happens between two of them. Trouble with the
   * disk ends it early, and the next call tries again.
   * @param isAll also the samples and measures that would wait for some more of their minutes
   */
  *write(nowMs: number, isAll = false): Generator<HistorySlice> {
    this.#nowMs = nowMs
    if (this.#db === null && nowMs >= this.#reopenAtMs) this.#open()
    if (this.#db === null) return
    const due = this.#queue.due(isAll || this.#reason !== null)
    for (let at = 0; at < due.length; at += BLOCKS_PER_SLICE) {
      const patches = due.slice(at, at + BLOCKS_PER_SLICE)
      if (!this.#attempt((db) => this.#merge(db, patches))) return
      yield 'merged'
    }
    if (this.#reason !== null) this.#recovered()
  }

  /**
   * Removes, once an hour, what is too old, and, a part with every call, takes over what a file that was set
   * aside still has, and checks what was in the file at the start. In slices.
   */
  *tidy(nowMs: number): Generator<HistorySlice> {
    this.#nowMs = nowMs
    yield* this.#retain()
    yield* this.#takeOver()
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

  /** Ascending, both ends included: one a minute for the last two days, one a quarter before. */
  samples(coin: string, fromMs: number, toMs: number): MarketSample[] {
    const dense = this.#samples(blockKinds.samples, coin, fromMs, toMs)
    const known = new Set(dense.map(({ timeMs }) => timeMs))
    const sparse = this.sparseSamples(coin, fromMs, toMs).filter(({ timeMs }) => !known.has(timeMs))
    return [...sparse, ...dense].sort((one, other) => one.timeMs - other.timeMs)
  }

  /** Ascending, both ends included: one a quarter. */
  sparseSamples(coin: string, fromMs: number, toMs: number): MarketSample[] {
    return this.#samples(blockKinds.sparseSamples, coin, fromMs, toMs)
  }

  /** Ascending, at whole hours: what the venue settled where that is known, else its last estimate. */
  fundings(coin: string, fromMs: number): FundingRow[] {
    return this.#rows(
      ...([coin, blockKinds.fundings, fromMs, Number.POSITIVE_INFINITY] as const),
      (timeMs, numbers, at) => fundingOf(coin, timeMs, numbers, at),
    )
  }

  /** Of every measure that was ever kept, ascending; of some of them nothing may be left. */
  measureSeries(): readonly string[] {
    const names = new Set(this.#queue.names())
    for (const name of this.#salvage?.names() ?? []) names.add(name)
    this.#attempt((db) => {
      for (const name of db.names()) names.add(name)
    })
    return Array.from(names, measureSeriesOf)
      .filter((series) => series !== null)
      .sort()
  }

  /** Ascending, at whole minutes of our clock, both ends included. */
  measures(series: string, fromMs: number, toMs: number): MeasureRow[] {
    return this.#rows(
      ...([measureName(series), blockKinds.measures, fromMs, toMs] as const),
      (timeMs, numbers, at) => ({ timeMs, value: numbers[at] as number }),
    )
  }

  /** Writes what is left, if it can, tells what it cannot, and lets go of the file. */
  close(nowMs: number): void {
    this.#writeLast(nowMs)
    // Where that found that the file is lost, into a new one.
    this.#writeLast(nowMs)
    const { rows } = this.#queue
    if (rows > 0) this.#options.onNotice({ kind: 'unwritten', rows })
    this.#db?.close()
    this.#db = null
    this.#salvage?.close()
    this.#salvage = null
  }

  #writeLast(nowMs: number): void {
    if (this.#queue.rows > 0) this.#reopenAtMs = nowMs
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

  /** Does something with the file. @returns false when the disk, or what is on it, does not allow it. */
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

  /** What waits in memory is written to the new file. */
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

  /** What waits in memory is written to the file that is there after a while. */
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

  /** By the venue's time, which is the bars': a clock of ours that jumps must not delete anything. */
  *#retain(): Generator<HistorySlice> {
    const newestMs = this.#queue.newestBarEndMs
    const hourMs = Math.floor(newestMs / HOUR_MS) * HOUR_MS
    if (this.#db === null || Number.isNaN(hourMs) || hourMs === this.#retainedHourMs) return
    const removal = this.#db.retain(newestMs)
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

  *#takeOver(): Generator<HistorySlice> {
    for (let slice = 0; slice < SALVAGE_SLICES_PER_TURN; slice += 1) {
      if (this.#salvage === null || this.#db === null) return
      const salvage = this.#salvage
      const patches = salvage.next()
      if (patches === null) {
        this.#options.onNotice({ kind: 'salvaged', blocks: salvage.takenBlocks })
        salvage.close()
        this.#salvage = null
        return
      }
      if (!this.#attempt((db) => db.adopt(patches))) return
      salvage.taken()
      yield 'salvaged'
    }
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
    const put = (number: number, over: Float64Array) => {
      const block = blocks.get(number)
      if (block === undefined) blocks.set(number, over)
      else overlay(block, kind, over)
    }
    const first = Math.max(0, blockNumber(kind, fromMs))
    const last = Math.min(BLOCK_NUMBER_MAX, blockNumber(kind, toMs))
    for (const { number, rows } of this.#salvage?.read(coin, kind, first, last) ?? [])
      put(number, rows)
    this.#attempt((db) => {
      for (const { number, block } of db.read(coin, kind, first, last)) {
        stored.push(block)
        put(number, block)
      }
    })
    for (const { number, rows } of this.#queue.waiting(coin, kind))
      if (number >= first && number <= last) put(number, rows)
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
    this.#salvage?.close()
    this.#salvage = HistorySalvage.open(path)
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
    this.#options.onNotice({ kind: 'recovered', droppedRows: this.#queue.droppedRows })
  }
}

function reasonOf(error: Error): string {
  const { cause } = error
  const why = cause instanceof Error ? `${error.message}: ${cause.message}` : error.message
  return error instanceof Database.SqliteError ? `${error.code}: ${why}` : why
}
