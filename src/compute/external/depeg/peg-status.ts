import { bps } from '../../render/significance.ts'
import { PEG_FORGOTTEN_MS, PEG_GAP_MS_MAX } from './peg-level.ts'

/** From best to worst, as in `docs/numbers/depeg.md`. */
export const pegStatuses = ['HEALTHY', 'ELEVATED', 'WARNING', 'CRITICAL'] as const
export type PegStatusName = (typeof pegStatuses)[number]

const OBSERVATIONS_NEEDED = 3
/** Statuses above HEALTHY. */
const HIGHER = [1, 2, 3] as const

/** Index into {@link pegStatuses}, of the distance as printed: below 10 bps, below 50, up to 200, above. */
function statusOf(exactBps: number): number {
  const distanceBps = bps(exactBps)
  if (distanceBps > 200) return 3
  if (distanceBps >= 50) return 2
  return distanceBps >= 10 ? 1 : 0
}

/**
 * Status of a peg. It rises when the deviation exceeds a bound by more than the confidence, or in three consecutive
 * observations; it falls at once.
 */
export class PegStatus {
  #status = 0
  #sinceMs = Number.NaN
  #lastMs = Number.NaN
  /** Newest receive time of the last observation. */
  #heardMs = Number.NaN
  /** Consecutive observations beyond the bound of each of {@link HIGHER}. */
  #inRow: number[] = HIGHER.map(() => 0)

  get name(): PegStatusName {
    return pegStatuses[this.#status] as PegStatusName
  }

  get sinceMs(): number {
    return this.#sinceMs
  }

  /** @param heardMs newest receive time behind the price: the same one again is no new observation */
  step(
    nowMs: number,
    price: { readonly deviationBps: number; readonly confidenceBps: number },
    heardMs: number,
  ): void {
    this.#continue(nowMs)
    const distanceBps = Math.abs(price.deviationBps)
    const observed = statusOf(distanceBps)
    const isNew = heardMs !== this.#heardMs
    this.#heardMs = heardMs
    this.#inRow = this.#inRow.map((count, at) => (observed > at ? count + Number(isNew) : 0))
    const repeated = HIGHER.findLast((_, at) => (this.#inRow[at] as number) >= OBSERVATIONS_NEEDED)
    const risen = Math.max(statusOf(distanceBps - price.confidenceBps), repeated ?? 0)
    const status = Math.min(observed, Math.max(this.#status, risen))
    if (status === this.#status) return
    this.#status = status
    this.#sinceMs = nowMs
  }

  save(): number[] {
    return [this.#status, this.#sinceMs, this.#lastMs, this.#heardMs, ...this.#inRow]
  }

  /** @returns false for numbers that {@link save} did not produce */
  restore(saved: ArrayLike<number>): boolean {
    const numbers = Array.from(saved)
    const [status = Number.NaN, sinceMs = Number.NaN, lastMs = Number.NaN, heardMs, ...inRow] =
      numbers
    if (heardMs === undefined || inRow.length !== HIGHER.length) return false
    if (pegStatuses[status] === undefined) return false
    this.#status = status
    this.#sinceMs = sinceMs
    this.#lastMs = lastMs
    this.#heardMs = heardMs
    this.#inRow = inRow
    return true
  }

  #continue(nowMs: number): void {
    const elapsedMs = nowMs - this.#lastMs
    this.#lastMs = nowMs
    if (elapsedMs >= 0 && elapsedMs <= PEG_GAP_MS_MAX) return
    this.#inRow = HIGHER.map(() => 0)
    if (Math.abs(elapsedMs) <= PEG_FORGOTTEN_MS) return
    this.#status = 0
    this.#sinceMs = nowMs
  }
}
