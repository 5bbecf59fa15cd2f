import type { CoinChannel } from '../../src/simulator/venue/fault.ts'
import { coinChannels } from '../../src/simulator/venue/fault.ts'
import type { FaultKind, PlannedFault, SimulatedFault } from './fault-script.ts'
import { endMs, isSilent } from './fault-script.ts'
import { DELAY_NOTICED_MS, noticedWithinMs, PONG_NOTICED_MS } from './promises.ts'

/** The venue tells what happened within this time. */
const TOLD_MS = 2_000
const frameLosses: ReadonlySet<FaultKind> = new Set([
  'drop-frames',
  'reorder-frames',
  'garble-frames',
])

/** What was lost or bent in one moment may show until the next frame of its channel. */
const ECHO_MS = 15_000

/** What has gone wrong so far: the possible causes of what a checker finds. */
export class FaultLog {
  readonly #begun: PlannedFault[] = []
  readonly counts: { [Kind in FaultKind]?: number } = {}

  begin(planned: PlannedFault): void {
    this.#begun.push(planned)
    const { kind } = planned.fault
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }

  /** Whether something about a coin may have been lost or bent unnoticed in some part of a time. */
  wasSilent(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(fromMs, toMs).some(
      ({ fault }) => isSilent(fault) && !('coin' in fault && fault.coin !== coin),
    )
  }

  /** Whether the very frames that told of what happened at an instant may have been lost or bent. */
  wereFramesLost(atMs: number): boolean {
    return this.#begun.some(
      (planned) =>
        frameLosses.has(planned.fault.kind) &&
        planned.atMs <= atMs + TOLD_MS &&
        endMs(planned) >= atMs,
    )
  }

  /**
   * By when a stream of this coin that fell silent without a word has to be noticed; null where none
   * did. What is silent longer hides what would be noticed sooner.
   */
  silenceMs(fromMs: number, toMs: number, coin: string): number | null {
    const faults = this.#between(fromMs, toMs).map(({ fault }) => fault)
    const stalls = faults.filter((fault) => fault.kind === 'stall' && fault.coin === coin)
    const limits = stalls.map(stallNoticedMs)
    // Of two at once, one may hide what would tell of the other.
    if (stalls.length > 1) limits.push(noticedWithinMs.candlesAndTrades)
    if (faults.some(({ kind }) => kind === 'half-open')) limits.push(noticedWithinMs.connection)
    const longestMs = Math.max(0, ...limits)
    return longestMs === 0 ? null : longestMs
  }

  /**
   * Whether one silence of this coin that anybody watches hides what happened at an instant, and may still show at a
   * later one.
   */
  isSilentThroughout(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(toMs, toMs).some(({ atMs, fault }) => {
      const isWatched =
        fault.kind === 'half-open' ||
        ('coin' in fault && fault.coin === coin && stallNoticedMs(fault) > 0)
      return isWatched && atMs <= fromMs + TOLD_MS
    })
  }

  /**
   * By how much frames may be late, or be taken for late, before anything can have told of it; 0 where
   * that has not changed of late.
   */
  unnoticedDelayMs(nowMs: number): number {
    let delayMs = 0
    for (const planned of this.#begun) {
      const { fault, atMs } = planned
      if (fault.kind !== 'delay-frames') continue
      const sinceEndMs = nowMs - endMs(planned)
      const hiddenMs = this.#areStampsPutForward(atMs, nowMs) ? PONG_NOTICED_MS : 0
      const isNew = sinceEndMs < 0 && nowMs - atMs <= fault.delayMs + DELAY_NOTICED_MS + hiddenMs
      const isOver = sinceEndMs >= 0 && sinceEndMs <= DELAY_NOTICED_MS
      if (isNew || isOver) delayMs += fault.delayMs + DELAY_NOTICED_MS
    }
    return delayMs
  }

  /** Whether the venue's clock was put forward in a time: what came late by then bears a stamp as if it had not. */
  #areStampsPutForward(fromMs: number, toMs: number): boolean {
    return this.#begun.some((planned) => {
      const { fault, atMs } = planned
      if (fault.kind !== 'clock-skew') return false
      const forwardMs = fault.offsetMs > 0 ? atMs : endMs(planned)
      return forwardMs >= fromMs && forwardMs <= toMs
    })
  }

  /** Kinds that were at work, on this coin where they name one, in some part of a time. */
  kindsBetween(fromMs: number, toMs: number, coin?: string): readonly FaultKind[] {
    const kinds = this.#between(fromMs, toMs).flatMap(({ fault }) =>
      coin !== undefined && 'coin' in fault && fault.coin !== coin ? [] : [fault.kind],
    )
    return [...new Set(kinds)].toSorted()
  }

  #between(fromMs: number, toMs: number): readonly PlannedFault[] {
    return this.#begun.filter(
      (planned) => planned.atMs <= toMs && endMs(planned) + ECHO_MS >= fromMs,
    )
  }
}

/** By when a stall has to be noticed; 0 for one of channels that nobody watches. */
function stallNoticedMs(fault: SimulatedFault): number {
  if (fault.kind !== 'stall') return 0
  const channels: readonly CoinChannel[] = fault.channels ?? coinChannels
  // Books that come again in time give nothing away.
  const isBookMissed = channels.includes('l2Book') && fault.durationMs >= noticedWithinMs.book
  if (isBookMissed) return noticedWithinMs.book
  if (!channels.includes('candle')) return channels.includes('l2Book') ? noticedWithinMs.book : 0
  return channels.includes('trades') ? noticedWithinMs.candlesAndTrades : noticedWithinMs.candles
}
