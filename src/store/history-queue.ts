import type { HistoryBatch } from '../domain/history.ts'
import { SPARSE_SAMPLE_STEP_MS } from '../domain/history.ts'
import { timeframeMs } from '../domain/timeframe.ts'
import type { BlockKind } from './history-block.ts'
import {
  BLOCK_NUMBERS,
  blockKinds,
  blockNumber,
  hasPlace,
  measureName,
  offsetOf,
  place,
  rowCount,
} from './history-block.ts'
import type { Patch } from './history-db.ts'
import { barRow, fundingRow, sampleRow } from './history-row.ts'

/** Patches that may wait for the disk, up to 31 MB. With 326 coins a full disk fills the queue in more than 12 hours. */
const PATCHES_MAX = 8_192

/**
 * Samples and measures of five minutes are written together, because a patch writes a whole page. Samples written every
 * minute would be 2 GB a day.
 */
const TOGETHER_MS = 5 * 60_000

/** Rows that wait for the disk, by block. A full queue drops the oldest block. */
export class HistoryQueue {
  readonly #patches = new Map<string, WaitingPatch>()
  #droppedRows = 0
  #newestBarEndMs = Number.NaN
  readonly #samples = togetherOf(blockKinds.samples, blockKinds.sparseSamples)
  readonly #measures = togetherOf(blockKinds.measures)

  /** Rows lost before they reached the disk. */
  get droppedRows(): number {
    return this.#droppedRows
  }

  /** Rows that wait. */
  get rows(): number {
    let rows = 0
    for (const patch of this.#patches.values()) rows += rowCount(patch.rows, patch.kind)
    return rows
  }

  /** End of the newest bar, as the venue's present time; NaN before any bar. */
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
    // Measures of one batch may be of different minutes.
    if (measures.length > 0)
      this.#measures.newestMs = Math.max(...measures.map(({ timeMs }) => timeMs))
  }

  /** The patches to write now; without `isAll` samples and measures wait for five minutes. */
  due(isAll: boolean): readonly Patch[] {
    const few = [this.#samples, this.#measures].filter((together) => {
      if (!isAll && Math.abs(together.newestMs - together.handedOutMs) < TOGETHER_MS) return true
      together.handedOutMs = together.newestMs
      return false
    })
    const isDue = ({ kind }: Patch) => !few.some(({ kinds }) => kinds.includes(kind))
    return [...this.#patches.values()].filter(isDue)
  }

  /** Removes patches that are on disk. */
  remove(patches: readonly Patch[]): void {
    for (const patch of patches) {
      const name = nameOf(patch.coin, patch.kind, patch.number)
      if (this.#patches.get(name) === patch) this.#patches.delete(name)
    }
  }

  /** Coins with waiting rows, and measures by {@link measureName}. */
  names(): ReadonlySet<string> {
    return new Set(Array.from(this.#patches.values(), ({ coin }) => coin))
  }

  /** Waiting patches of a series, in any order. */
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
    const at = offsetOf(kind, timeMs)
    let patch = this.#patches.get(name)
    if (patch === undefined) {
      patch = { coin, kind, number, at, rows: new Float64Array() }
      this.#patches.set(name, patch)
      if (this.#patches.size > PATCHES_MAX) this.#dropOldest()
    }
    extend(patch, at)
    place(patch.rows, kind, at - patch.at, row)
  }

  #dropOldest(): void {
    const [oldest] = this.#patches
    if (oldest === undefined) return
    const [name, { rows, kind }] = oldest
    this.#droppedRows += rowCount(rows, kind)
    this.#patches.delete(name)
  }
}

/** Most patches have the rows of five minutes: whole blocks of every coin and measure would be 3.6 MB at 230 coins. */
function extend(patch: WaitingPatch, at: number): void {
  const held = patch.rows.length
  const first = Math.min(patch.at, at)
  const needed = Math.max(patch.at + held, at + patch.kind.fields) - first
  if (needed === held) return
  // Doubled, because a loaded history fills a block row by row, ascending.
  const doubled = Math.min(2 * held, BLOCK_NUMBERS - first)
  const length = first < patch.at ? needed : Math.max(needed, doubled)
  const rows = new Float64Array(length).fill(Number.NaN)
  rows.set(patch.rows, patch.at - first)
  patch.at = first
  patch.rows = rows
}

type WaitingPatch = Pick<Patch, 'coin' | 'kind' | 'number'> & { at: number; rows: Float64Array }

/** Kinds whose rows are written five minutes at a time. */
type Together = { readonly kinds: readonly BlockKind[]; newestMs: number; handedOutMs: number }

function togetherOf(...kinds: readonly BlockKind[]): Together {
  return { kinds, newestMs: Number.NaN, handedOutMs: Number.NaN }
}

function nameOf(coin: string, { code }: BlockKind, number: number): string {
  return `${coin} ${code} ${number}`
}
