import type { CoinChannel } from '../../src/simulator/venue/fault.ts'
import { coinChannels } from '../../src/simulator/venue/fault.ts'
import type { FaultKind, PlannedFault, SimulatedFault } from './fault-script.ts'
import { endMs, isTraceless } from './fault-script.ts'
import { DELAY_NOTICED_MS, noticedWithinMs, PONG_NOTICED_MS } from './promises.ts'

/** The venue publishes an event within this time. */
const PUBLISHED_MS = 2_000
const frameLosses: ReadonlySet<FaultKind> = new Set([
  'drop-frames',
  'reorder-frames',
  'garble-frames',
])

/** A lost or garbled frame may have an effect until the next frame of its channel. */
const ECHO_MS = 15_000

/** An engine has received its first frames this long after its start, refused subscriptions included. */
const STARTING_MS = 15_000

/** Faults so far: the possible causes of a checker's findings. */
export class FaultLog {
  readonly #begun: PlannedFault[] = []
  readonly counts: { [Kind in FaultKind]?: number } = {}

  begin(planned: PlannedFault): void {
    this.#begun.push(planned)
    const { kind } = planned.fault
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }

  /** Whether frames of a coin may have been lost or garbled without a trace within an interval. */
  mayBeLost(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(fromMs, toMs).some(
      ({ fault }) => isTraceless(fault) && !('coin' in fault && fault.coin !== coin),
    )
  }

  /** Whether the frames about an instant may have been lost or garbled. */
  wereFramesLost(atMs: number): boolean {
    return this.#begun.some(
      (planned) =>
        frameLosses.has(planned.fault.kind) &&
        planned.atMs <= atMs + PUBLISHED_MS &&
        endMs(planned) >= atMs,
    )
  }

  /** Like `wereFramesLost`, or withheld by a stall of the coin that is over: the venue does not resend them. */
  wasLost(atMs: number, coin: string, nowMs: number): boolean {
    const isStallOver = this.#begun.some(
      (planned) =>
        planned.fault.kind === 'stall' &&
        planned.fault.coin === coin &&
        planned.atMs <= atMs + PUBLISHED_MS &&
        endMs(planned) >= atMs &&
        endMs(planned) < nowMs,
    )
    return isStallOver || this.wereFramesLost(atMs)
  }

  /**
   * The rule by which a silent stream of this coin must be detected; null without one. The slowest rule
   * counts, because that silence hides the faster signs.
   */
  silence(fromMs: number, toMs: number, coin: string): Silence | null {
    const faults = this.#between(fromMs, toMs).map(({ fault }) => fault)
    const silences = faults.map((fault) => silenceOf(fault, coin)).filter((rule) => rule !== null)
    const stalls = faults.filter((fault) => fault.kind === 'stall' && fault.coin === coin)
    // One of two simultaneous stalls may hide the sign of the other.
    if (stalls.length > 1) silences.push('candlesAndTrades')
    return silences.reduce<Silence | null>(
      (longest, silence) =>
        longest === null || noticedWithinMs[silence] > noticedWithinMs[longest] ? silence : longest,
      null,
    )
  }

  /** Whether one silence of this coin lasts from the first instant to the second. */
  isSilentThroughout(fromMs: number, toMs: number, coin: string): boolean {
    return this.#between(toMs, toMs).some(
      ({ atMs, fault }) => silenceOf(fault, coin) !== null && atMs <= fromMs + PUBLISHED_MS,
    )
  }

  /**
   * Delay of frames, real or assumed, that the engine cannot have detected yet; 0 without a recent
   * change.
   */
  unnoticedDelayMs(nowMs: number): number {
    let delayMs = 0
    for (const planned of this.#begun) {
      const { fault, atMs } = planned
      const sinceEndMs = nowMs - endMs(planned)
      // Frames that queued during a sleep have correct timestamps, except for steps of the venue clock.
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

  /** A started engine has no earlier frame to compare the first late frame with. */
  #isStarting(atMs: number): boolean {
    return this.#begun.some(
      ({ fault, atMs: crashedAtMs }) =>
        fault.kind === 'engine-crash' && crashedAtMs <= atMs && atMs - crashedAtMs <= STARTING_MS,
    )
  }

  /** Forward steps of the venue clock in an interval; they make late frames look punctual. */
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

  /** Kinds of faults active within an interval, for this coin if they name one. */
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

/** The rule that detects a silent stream. */
export type Silence = keyof typeof noticedWithinMs

/** The rule that detects a fault as a silence of a coin; null if it is none or is not monitored. */
function silenceOf(fault: SimulatedFault, coin: string): Silence | null {
  if (fault.kind === 'half-open') return 'connection'
  if (fault.kind !== 'stall' || fault.coin !== coin) return null
  const channels: readonly CoinChannel[] = fault.channels ?? coinChannels
  const areBooksStalled = channels.includes('l2Book')
  // A stall of books shorter than the limit is not detected.
  const areBooksMissed = areBooksStalled && fault.durationMs >= noticedWithinMs.book
  if (areBooksMissed || !channels.includes('candle')) return areBooksStalled ? 'book' : null
  return channels.includes('trades') ? 'candlesAndTrades' : 'candles'
}
