import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'

/** One month. */
const HOURS = 720

/** A row appears up to 118 ms after its hour. */
const SETTLED_AFTER_MS = 60_000

type Span = { readonly fromMs: number; readonly untilMs: number }

type Answer = {
  readonly rows: readonly FundingRow[]
  /** No row was dropped. */
  readonly isWhole: boolean
}

/** The hours of settled funding that are known per coin: one span, both ends included, without gaps except the venue's own. */
export class FundingCache {
  readonly #spans = new Map<string, Span>()
  /** The first missing hour of an incomplete reply, which is requested once more. */
  readonly #holes = new Map<string, number>()

  /** Settled hours of the local history, up to the first gap. */
  loaded(coin: string, rows: readonly FundingRow[]): void {
    const settled = rows.filter(({ isSettled }) => isSettled)
    const [first] = settled
    if (first === undefined) return
    const untilMs = firstHoleMs(first.timeMs, settled) - FUNDING_STEP_MS
    this.#add(coin, { fromMs: first.timeMs, untilMs })
  }

  /** A reply from one instant on. An hour that is missing twice does not exist at the venue. */
  answered(coin: string, fromMs: number, { rows, isWhole }: Answer): void {
    const last = rows.at(-1)
    const holeMs = firstHoleMs(fromMs, rows)
    if (isWhole || this.#holes.get(coin) === holeMs) {
      this.#holes.delete(coin)
      if (last !== undefined) this.#add(coin, { fromMs, untilMs: last.timeMs })
      return
    }
    this.#holes.set(coin, holeMs)
    if (holeMs > fromMs) this.#add(coin, { fromMs, untilMs: holeMs - FUNDING_STEP_MS })
  }

  /** The first missing hour at an instant of the venue's clock; null for none. */
  needFromMs(coin: string, venueMs: number): number | null {
    const lastMs = Math.floor((venueMs - SETTLED_AFTER_MS) / FUNDING_STEP_MS) * FUNDING_STEP_MS
    const firstMs = lastMs - (HOURS - 1) * FUNDING_STEP_MS
    const span = this.#spans.get(coin)
    if (span === undefined || span.fromMs > firstMs || span.untilMs < firstMs) return firstMs
    return span.untilMs < lastMs ? span.untilMs + FUNDING_STEP_MS : null
  }

  /** Removes coins that are no longer followed. */
  keep(isFollowed: (coin: string) => boolean): void {
    for (const memory of [this.#spans, this.#holes])
      for (const coin of memory.keys()) if (!isFollowed(coin)) memory.delete(coin)
  }

  /** Joins adjacent spans; otherwise the new span replaces the known one. */
  #add(coin: string, { fromMs, untilMs }: Span): void {
    const known = this.#spans.get(coin)
    const isJoined =
      known !== undefined &&
      fromMs <= known.untilMs + FUNDING_STEP_MS &&
      known.fromMs <= untilMs + FUNDING_STEP_MS
    this.#spans.set(
      coin,
      isJoined
        ? { fromMs: Math.min(fromMs, known.fromMs), untilMs: Math.max(untilMs, known.untilMs) }
        : { fromMs, untilMs },
    )
  }
}

/** The first hour from one on that is missing in ascending rows. */
function firstHoleMs(fromMs: number, rows: readonly FundingRow[]): number {
  let holeMs = fromMs
  for (const { timeMs } of rows) {
    if (timeMs > holeMs) break
    holeMs = timeMs + FUNDING_STEP_MS
  }
  return holeMs
}
