import type { CoinChannel } from '../../src/simulator/venue/fault.ts'
import { coinChannels } from '../../src/simulator/venue/fault.ts'
import type { FaultKind, PlannedFault, SimulatedFault } from './fault-script.ts'
import { endMs, isTraceless } from './fault-script.ts'
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

/** An engine that begins has heard within this time, refused subscriptions included, what its first frames tell. */
const STARTING_MS = 15_000

/** What has gone wrong so far: the possible causes of what a checker finds. */
export class FaultLog {
  readonly #begun: PlannedFault[] = []
  readonly counts: { [Kind in FaultKind]?: number } = {}

  begin(planned: PlannedFault): void {
    this.#begun.push(planned)
    const { kind } = planned.fault
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }

  /** Whether something about a coin may have been lost or bent without a trace in some part of a time. */
  mayBeLost(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(fromMs, toMs).some(
      ({ fault }) => isTraceless(fault) && !('coin' in fault && fault.coin !== coin),
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

  /** ... or what a stall of this coin kept back, which is over by now: the venue does not tell it later. */
  wasLost(atMs: number, coin: string, nowMs: number): boolean {
    const isStallOver = this.#begun.some(
      (planned) =>
        planned.fault.kind === 'stall' &&
        planned.fault.coin === coin &&
        planned.atMs <= atMs + TOLD_MS &&
        endMs(planned) >= atMs &&
        endMs(planned) < nowMs,
    )
    return isStallOver || this.wereFramesLost(atMs)
  }

  /**
   * By which rule a stream of this coin that fell silent without a word has to be noticed; null where none
   * did. What takes longer hides what would be noticed sooner.
   */
  silence(fromMs: number, toMs: number, coin: string): Silence | null {
    const faults = this.#between(fromMs, toMs).map(({ fault }) => fault)
    const silences = faults.map((fault) => silenceOf(fault, coin)).filter((rule) => rule !== null)
    const stalls = faults.filter((fault) => fault.kind === 'stall' && fault.coin === coin)
    // Of two at once, one may hide what would tell of the other.
    if (stalls.length > 1) silences.push('candlesAndTrades')
    return silences.reduce<Silence | null>(
      (longest, silence) =>
        longest === null || noticedWithinMs[silence] > noticedWithinMs[longest] ? silence : longest,
      null,
    )
  }

  /** Whether one silence of this coin hides what happened at an instant, and may still show at a later one. */
  isSilentThroughout(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(toMs, toMs).some(
      ({ atMs, fault }) => silenceOf(fault, coin) !== null && atMs <= fromMs + TOLD_MS,
    )
  }

  /**
   * By how much frames may be late, or be taken for late, before anything can have told of it; 0 where
   * that has not changed of late.
   */
  unnoticedDelayMs(nowMs: number): number {
    let delayMs = 0
    for (const planned of this.#begun) {
      const { fault, atMs } = planned
      const sinceEndMs = nowMs - endMs(planned)
      // What waited while we slept is as late as its stamps say.
      if (fault.kind === 'sleep' && sinceEndMs <= PONG_NOTICED_MS)
        delayMs += Math.min(fault.durationMs, this.#stampsForwardMs(atMs, endMs(planned)))
      if (fault.kind !== 'delay-frames') continue
      const isHidden = this.#stampsForwardMs(atMs, nowMs) > 0 || this.#isStarting(atMs)
      const hiddenMs = isHidden ? PONG_NOTICED_MS : 0
      const isNew = sinceEndMs < 0 && nowMs - atMs <= fault.delayMs + DELAY_NOTICED_MS + hiddenMs
      const isOver = sinceEndMs >= 0 && sinceEndMs <= DELAY_NOTICED_MS
      if (isNew || isOver) delayMs += fault.delayMs + DELAY_NOTICED_MS
    }
    return delayMs
  }

  /** An engine that had heard nothing yet compares the first late frame with none. */
  #isStarting(atMs: number): boolean {
    return this.#begun.some(
      ({ fault, atMs: crashedAtMs }) =>
        fault.kind === 'engine-crash' && crashedAtMs <= atMs && atMs - crashedAtMs <= STARTING_MS,
    )
  }

  /** By how much the venue's clock was put forward in a time: what came late by then bears a stamp as if it had not. */
  #stampsForwardMs(fromMs: number, toMs: number): number {
    let sumMs = 0
    for (const planned of this.#begun) {
      const { fault, atMs } = planned
      if (fault.kind !== 'clock-skew') continue
      const forwardMs = fault.offsetMs > 0 ? atMs : endMs(planned)
      if (forwardMs >= fromMs && forwardMs <= toMs) sumMs += Math.abs(fault.offsetMs)
    }
    return sumMs
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

/** What gives away that a stream says nothing any more. */
export type Silence = keyof typeof noticedWithinMs

/** How a fault has to be noticed as a silence of a coin; null where it is none, or one that nobody watches. */
function silenceOf(fault: SimulatedFault, coin: string): Silence | null {
  if (fault.kind === 'half-open') return 'connection'
  if (fault.kind !== 'stall' || fault.coin !== coin) return null
  const channels: readonly CoinChannel[] = fault.channels ?? coinChannels
  const areBooksStalled = channels.includes('l2Book')
  // Books that come again in time give nothing away.
  const areBooksMissed = areBooksStalled && fault.durationMs >= noticedWithinMs.book
  if (areBooksMissed || !channels.includes('candle')) return areBooksStalled ? 'book' : null
  return channels.includes('trades') ? 'candlesAndTrades' : 'candles'
}
