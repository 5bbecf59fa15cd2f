import type { HistoryBatch } from '../domain/history.ts'
import { SPARSE_SAMPLE_STEP_MS } from '../domain/history.ts'
import type { Timeframe } from '../domain/timeframe.ts'
import { timeframeMs } from '../domain/timeframe.ts'
import type { BlockKind } from './history-block.ts'
import { blockKinds, blockNumber, emptyBlock, hasPlace, place, rowCount } from './history-block.ts'
import type { Patch } from './history-db.ts'
import { barRow, fundingRow, sampleRow } from './history-row.ts'

/**
 * Patches that wait for the disk, 31 MB of them. With 326 coins a full disk needs some 17 hours to fill
 * it (6 a coin at once, then little more than one an hour); otherwise a few hundred wait.
 */
const PATCHES_MAX = 8_192

/**
 * Samples are handed out together for so long: a patch writes a page whether it holds one minute or
 * five, and every minute would be 2 GB a day.
 */
const SAMPLES_TOGETHER_MS = 5 * 60_000

export const barKinds: Readonly<Record<Timeframe, BlockKind>> = {
  '15m': blockKinds.bars15m,
  '1h': blockKinds.bars1h,
  '4h': blockKinds.bars4h,
}

/** Rows on their way to the disk, by the block that they belong to. When it is full the oldest go. */
export class HistoryQueue {
  readonly #patches = new Map<string, Patch>()
  #droppedRows = 0
  #newestBarEndMs = Number.NaN
  #newestSampleMs = Number.NaN
  #handedOutSampleMs = Number.NaN

  /** Rows that were lost before they reached the disk. */
  get droppedRows(): number {
    return this.#droppedRows
  }

  /** End of the newest bar ever queued: the time that the venue has reached. NaN before any. */
  get newestBarEndMs(): number {
    return this.#newestBarEndMs
  }

  add({ bars, samples, fundings, droppedRows }: HistoryBatch): void {
    this.#droppedRows += droppedRows
    for (const { coin, timeframe, bar } of bars) {
      this.#put(coin, barKinds[timeframe], bar.openTimeMs, barRow(bar))
      const endMs = bar.openTimeMs + timeframeMs[timeframe]
      if (!(endMs <= this.#newestBarEndMs)) this.#newestBarEndMs = endMs
    }
    for (const sample of samples) {
      const row = sampleRow(sample)
      this.#put(sample.coin, blockKinds.samples, sample.timeMs, row)
      if (sample.timeMs % SPARSE_SAMPLE_STEP_MS === 0)
        this.#put(sample.coin, blockKinds.sparseSamples, sample.timeMs, row)
      this.#newestSampleMs = sample.timeMs
    }
    for (const funding of fundings)
      this.#put(funding.coin, blockKinds.fundings, funding.timeMs, fundingRow(funding))
  }

  /** What is to be written now: all of it, or without the samples while they are few. */
  due(isAll: boolean): readonly Patch[] {
    const patches = [...this.#patches.values()]
    const isSampleDue = !(
      Math.abs(this.#newestSampleMs - this.#handedOutSampleMs) < SAMPLES_TOGETHER_MS
    )
    if (isAll || isSampleDue) {
      this.#handedOutSampleMs = this.#newestSampleMs
      return patches
    }
    return patches.filter(({ kind }) => !isOfSamples(kind))
  }

  /** To be called for patches that are on disk. */
  remove(patches: readonly Patch[]): void {
    for (const patch of patches) {
      const name = nameOf(patch.coin, patch.kind, patch.number)
      if (this.#patches.get(name) === patch) this.#patches.delete(name)
    }
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

function isOfSamples(kind: BlockKind): boolean {
  return kind === blockKinds.samples || kind === blockKinds.sparseSamples
}

function nameOf(coin: string, { code }: BlockKind, number: number): string {
  return `${coin} ${code} ${number}`
}
