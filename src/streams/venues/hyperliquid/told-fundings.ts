import type { FundingRow } from '../../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../../domain/history.ts'

/** How far back funding is asked for: a month, by the hour. */
const HOURS = 720

/** A row lands up to 118 ms after its hour; what is asked this much later has it. */
const SETTLED_AFTER_MS = 60_000

type Span = { readonly fromMs: number; readonly untilMs: number }

/**
 * Of each coin, which hours of funding are known as the venue settled them: one span without a hole that
 * the venue has not left itself, both ends included.
 */
export class ToldFundings {
  readonly #spans = new Map<string, Span>()

  /** What was settled long ago and is known from our own history: of it, the hours up to the first hole. */
  remembered(coin: string, rows: readonly FundingRow[]): void {
    const settled = rows.filter(({ isSettled }) => isSettled)
    const [first] = settled
    if (first === undefined) return
    let untilMs = first.timeMs
    for (const { timeMs } of settled) {
      if (timeMs > untilMs + FUNDING_STEP_MS) break
      untilMs = timeMs
    }
    this.#add(coin, { fromMs: first.timeMs, untilMs })
  }

  /** What the venue answered to a question from one instant on. An hour it left out it does not have. */
  answered(coin: string, fromMs: number, rows: readonly FundingRow[]): void {
    const last = rows.at(-1)
    if (last !== undefined) this.#add(coin, { fromMs, untilMs: last.timeMs })
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
    for (const coin of this.#spans.keys()) if (!isFollowed(coin)) this.#spans.delete(coin)
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
