import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'

/** How far back funding is asked for: a month, by the hour. */
const HOURS = 720

/** A row lands up to 118 ms after its hour; what is asked this much later has it. */
const SETTLED_AFTER_MS = 60_000

type Span = { readonly fromMs: number; readonly untilMs: number }

type Answer = {
  readonly rows: readonly FundingRow[]
  /** Nothing of it was left out as unreadable or not to be believed. */
  readonly isWhole: boolean
}

/**
 * Of each coin, which hours of funding are known as the venue settled them: one span without a hole that
 * the venue has not left itself, both ends included.
 */
export class FundingCache {
  readonly #spans = new Map<string, Span>()
  /** The first hour that lacked in an answer that was not whole: it is asked for once more. */
  readonly #holes = new Map<string, number>()

  /** What was settled long ago and is known from our own history: of it, the hours up to the first hole. */
  remembered(coin: string, rows: readonly FundingRow[]): void {
    const settled = rows.filter(({ isSettled }) => isSettled)
    const [first] = settled
    if (first === undefined) return
    const untilMs = firstHoleMs(first.timeMs, settled) - FUNDING_STEP_MS
    this.#add(coin, { fromMs: first.timeMs, untilMs })
  }

  /** What the venue answered to a question from one instant on. An hour it left out, or cannot tell twice, it does not have. */
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

  /** The first hour that is lacking at an instant of the venue's clock, or null for none. */
  needFromMs(coin: string, venueMs: number): number | null {
    const lastMs = Math.floor((venueMs - SETTLED_AFTER_MS) / FUNDING_STEP_MS) * FUNDING_STEP_MS
    const firstMs = lastMs - (HOURS - 1) * FUNDING_STEP_MS
    const span = this.#spans.get(coin)
    if (span === undefined || span.fromMs > firstMs || span.untilMs < firstMs) return firstMs
    return span.untilMs < lastMs ? span.untilMs + FUNDING_STEP_MS : null
  }

  /** Forgets what is not followed any more. */
  keep(isFollowed: (coin: string) => boolean): void {
    for (const memory of [this.#spans, this.#holes])
      for (const coin of memory.keys()) if (!isFollowed(coin)) memory.delete(coin)
  }

  /** The span grows where the two meet; else what was told last counts. */
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

/** The first hour from one on that ascending rows do not tell. */
function firstHoleMs(fromMs: number, rows: readonly FundingRow[]): number {
  let holeMs = fromMs
  for (const { timeMs } of rows) {
    if (timeMs > holeMs) break
    holeMs = timeMs + FUNDING_STEP_MS
  }
  return holeMs
}
