import type { HistoryBatch } from '../domain/history.ts'
import { SPARSE_SAMPLE_STEP_MS } from '../domain/history.ts'
import { timeframeMs } from '../domain/timeframe.ts'
import type { BlockKind } from './history-block.ts'
import {
  blockKinds,
  blockNumber,
  emptyBlock,
  hasPlace,
  measureName,
  place,
  rowCount,
} from './history-block.ts'
import type { Patch } from './history-db.ts'
import { barRow, fundingRow, sampleRow } from './history-row.ts'

/**
 * Patches that wait for the disk, 31 MB of them. With 326 coins and two measures of each a full disk needs
 * some 12 hours to fill it (6 a coin and one a measure at once, then little more than one a coin and an
 * eighth a measure an hour); otherwise some hundreds wait.
 */
const PATCHES_MAX = 8_192

/**
 * Samples are handed out together for so long, and so are measures: a patch writes a page whether it holds
 * one minute or five, and samples of every minute would be 2 GB a day.
 */
const TOGETHER_MS = 5 * 60_000

/** Rows on their way to the disk, by the block that they belong to. When it is full the oldest go. */
export class HistoryQueue {
  readonly #patches = new Map<string, Patch>()
  #droppedRows = 0
  #newestBarEndMs = Number.NaN
  readonly #samples = togetherOf(blockKinds.samples, blockKinds.sparseSamples)
  readonly #measures = togetherOf(blockKinds.measures)

  /** Rows that were lost before they reached the disk. */
  get droppedRows(): number {
    return this.#droppedRows
  }

  /** Rows that wait. */
  get rows(): number {
    let rows = 0
    for (const patch of this.#patches.values()) rows += rowCount(patch.rows, patch.kind)
    return rows
  }

  /** End of the newest bar ever queued: the time that the venue has reached. NaN before any. */
  get newestBarEndMs(): number {
    return this.#newestBarEndMs
  }

  add({ bars, samples, fundings, measures, droppedRows }: HistoryBatch): void {
    this.#droppedRows += droppedRows
    for (const { coin, timeframe, bar } of bars) {
      // A starting engine has its candles of 15m and 4h from the checkpoint or from the venue.
      if (timeframe === '1h') this.#put(coin, blockKinds.bars, bar.openTimeMs, barRow(bar))
      const endMs = bar.openTimeMs + timeframeMs[timeframe]
      if (!(endMs <= this.#newestBarEndMs)) this.#newestBarEndMs = endMs
    }
    for (const sample of samples) {
      const row = sampleRow(sample)
      this.#put(sample.coin, blockKinds.samples, sample.timeMs, row)
      if (sample.timeMs % SPARSE_SAMPLE_STEP_MS === 0)
        this.#put(sample.coin, blockKinds.sparseSamples, sample.timeMs, row)
      this.#samples.newestMs = sample.timeMs
    }
    for (const funding of fundings)
      this.#put(funding.coin, blockKinds.fundings, funding.timeMs, fundingRow(funding))
    for (const { series, timeMs, value } of measures)
      this.#put(measureName(series), blockKinds.measures, timeMs, [value])
    // A series that is seldom measured ends its minutes late.
    if (measures.length > 0)
      this.#measures.newestMs = Math.max(...measures.map(({ timeMs }) => timeMs))
  }

  /** What is to be written now: all of it, or without the samples and the measures while they are few. */
  due(isAll: boolean): readonly Patch[] {
    const few = [this.#samples, this.#measures].filter((together) => {
      if (!isAll && Math.abs(together.newestMs - together.handedOutMs) < TOGETHER_MS) return true
      together.handedOutMs = together.newestMs
      return false
    })
    const isDue = ({ kind }: Patch) => !few.some(({ kinds }) => kinds.includes(kind))
    return [...this.#patches.values()].filter(isDue)
  }

  /** To be called for patches that are on disk. */
  remove(patches: readonly Patch[]): void {
    for (const patch of patches) {
      const name = nameOf(patch.coin, patch.kind, patch.number)
      if (this.#patches.get(name) === patch) this.#patches.delete(name)
    }
  }

  /** Whose rows wait: coins, and measures by {@link measureName}. */
  names(): ReadonlySet<string> {
    return new Set(Array.from(this.#patches.values(), ({ coin }) => coin))
  }

  /** What waits for the blocks of a series, in any order. */
  *waiting(coin: string, kind: BlockKind): Generator<Patch> {
    for (const patch of this.#patches.values())
      if (patch.coin === coin && patch.kind === kind) yield patch
  }

  #put(coin: string, kind: BlockKind, timeMs: number, row: readonly number[]): void {
    if (!hasPlace(kind, timeMs)) {
      this.#droppedRows += 1
      return
    }
    const number = blockNumber(kind, timeMs)
    const name = nameOf(coin, kind, number)
    let patch = this.#patches.get(name)
    if (patch === undefined) {
      patch = { coin, kind, number, rows: emptyBlock() }
      this.#patches.set(name, patch)
      if (this.#patches.size > PATCHES_MAX) this.#dropOldest()
    }
    place(patch.rows, kind, timeMs, row)
  }

  #dropOldest(): void {
    const [oldest] = this.#patches
    if (oldest === undefined) return
    const [name, { rows, kind }] = oldest
    this.#droppedRows += rowCount(rows, kind)
    this.#patches.delete(name)
  }
}

/** Kinds whose rows are written some minutes at a time. */
type Together = { readonly kinds: readonly BlockKind[]; newestMs: number; handedOutMs: number }

function togetherOf(...kinds: readonly BlockKind[]): Together {
  return { kinds, newestMs: Number.NaN, handedOutMs: Number.NaN }
}

function nameOf(coin: string, { code }: BlockKind, number: number): string {
  return `${coin} ${code} ${number}`
}
