import type { Batch, SilenceEvent, Stamped, TradeEvent } from '../../../domain/event.ts'
import type { Plausibility } from '../plausibility/plausibility.ts'
import type { UniverseCache } from '../plausibility/universe-cache.ts'
import type { ReceiveTimes } from '../timing/receive-times.ts'
import type { Frame } from '../wire/frame.ts'
import type { FrameDecoder } from '../wire/frame-decoder.ts'
import type { CoinMonitor, StaleCoin } from './coin-monitor.ts'
import type { OnFeedEvent } from './feed-event.ts'
import type { SocketHealth } from './socket-health.ts'
import type { TradeStream } from './trade-stream.ts'

/** The state that frames and replies share. */
export type IngestState = {
  readonly decoder: FrameDecoder
  readonly times: ReceiveTimes
  readonly universes: UniverseCache
  readonly plausibility: Plausibility
  readonly monitor: CoinMonitor
  readonly trades: TradeStream
  readonly health: SocketHealth
  readonly onFeedEvent: OnFeedEvent
}

export type ProcessedFrame = {
  readonly frame: Frame
  readonly batch: Batch
  /** Coins that are received again: what they missed must be requested. */
  readonly recovered: readonly StaleCoin[]
  /** Dexes whose universe this frame contradicts: it must be requested. */
  readonly contradicted: readonly string[]
}

type EventsFrame = Extract<Frame, { kind: 'events' }>
type Processed = { readonly batch: Batch; readonly recovered: readonly StaleCoin[] }

const NOTHING: Processed = { batch: [], recovered: [] }

/** Turns one frame into the events of the engine: decoded, plausible, without repetitions, with receive times. */
export class FrameProcessor {
  readonly #state: IngestState

  constructor(state: IngestState) {
    this.#state = state
  }

  process(socket: number, text: string, nowMs: number): ProcessedFrame {
    const { decoder, health, plausibility, times } = this.#state
    times.reading(nowMs)
    const frame = decoder.decode(text, times.latestMs(nowMs))
    if (frame.kind !== 'pong') times.received(socket, nowMs)
    const { batch, recovered } =
      frame.kind === 'events' ? this.#processEvents(socket, frame, nowMs) : NOTHING
    if (frame.kind !== 'events') this.#handleControlFrame(socket, frame, nowMs)
    const status = health.received(socket, nowMs)
    const contradicted = plausibility.takeContradicted()
    return { frame, batch: status === null ? batch : [status, ...batch], recovered, contradicted }
  }

  #processEvents(socket: number, frame: EventsFrame, nowMs: number): Processed {
    const { monitor, onFeedEvent, plausibility, times, trades } = this.#state
    for (const one of frame.drops) onFeedEvent({ kind: 'value-dropped', ...one })
    times.noteTimeliness(frame, nowMs)
    const { mismatched = [], unlisted = [], channel, lost } = frame
    for (const dex of mismatched) plausibility.contradict(dex)
    plausibility.unlisted(unlisted, nowMs)
    if (channel === 'fastAssetCtxs') plausibility.marksReceived(socket, nowMs)
    const isByPlace = channel === 'allDexsAssetCtxs'
    const events = isByPlace ? plausibility.rowsOfTheirCoins(frame.events, nowMs) : frame.events
    const isReplay = trades.takeReplay(events)
    const isPast = isReplay && !trades.isPresent(events, nowMs)
    const accepted = this.#accept(events, { isReplay, isByPlace }, nowMs)
    // A frame with an unreadable trade may lack its newest ones.
    const isComplete = frame.drops.length === 0
    const gaps = lost?.map((coin) => trades.gapBeside(coin, accepted, nowMs)) ?? []
    const complete = gaps.length === 0 ? accepted : [...gaps, ...accepted]
    if (!isPast && isComplete && complete[0]?.kind === 'trade')
      times.traded(socket, complete, nowMs)
    const stamped = times.stamped(socket, complete, nowMs)
    const recovered = isPast ? [] : monitor.received(events, nowMs, times.delayMs(socket))
    const held = plausibility
      .takeHeldCandles()
      .map((coin) => ({ coin, channel: 'candle', times: 1 }) as const)
    const stale = held.length === 0 ? recovered : [...recovered, ...held]
    if (stale.length === 0) return { batch: stamped, recovered: stale }
    return {
      batch: [...silences(stale, 'heard', times.stamp(nowMs)), ...stamped],
      recovered: stale,
    }
  }

  /** A frame holds one kind of event. */
  #accept(
    events: Batch,
    { isReplay, isByPlace }: { readonly isReplay: boolean; readonly isByPlace: boolean },
    nowMs: number,
  ): Batch {
    const { plausibility, trades } = this.#state
    const [first] = events
    if (first?.kind === 'context')
      return plausibility.contexts(events, isByPlace ? 'last universe' : 'name', nowMs)
    if (first?.kind !== 'trade') return plausibility.others(events, nowMs)
    return trades.accept(events as readonly TradeEvent[], isReplay, nowMs)
  }

  #handleControlFrame(
    socket: number,
    frame: Exclude<Frame, { kind: 'events' }>,
    nowMs: number,
  ): void {
    const { onFeedEvent, plausibility, times, universes } = this.#state
    switch (frame.kind) {
      case 'acknowledged':
      case 'already-subscribed':
        this.#subscribed(frame, socket, nowMs)
        return
      case 'pong':
        times.ponged(socket, nowMs)
        return
      case 'rejected':
        onFeedEvent({ kind: 'frame-rejected', reason: frame.reason })
        if (frame.reason === 'context_length')
          for (const dex of universes.dexes) plausibility.contradict(dex)
        return
      case 'refused':
        onFeedEvent(frame)
        return
      case 'ignored':
        return
      default:
        frame satisfies never
    }
  }

  #subscribed(
    { kind, channel, coin }: Extract<Frame, { kind: 'acknowledged' | 'already-subscribed' }>,
    socket: number,
    nowMs: number,
  ): void {
    const { monitor, trades } = this.#state
    if (coin === null) return
    // The replay of an existing subscription came before.
    const isNew = kind === 'acknowledged'
    if (channel === 'trades' && isNew) trades.subscribed(coin)
    if (channel === 'l2Book') monitor.begin(coin, socket, nowMs)
    if (channel === 'candle' && isNew) monitor.madeGood(coin, 'candle', nowMs)
  }
}

export function silences(
  found: readonly StaleCoin[],
  state: SilenceEvent['state'],
  stamp: Stamped,
): readonly SilenceEvent[] {
  return found.map(({ coin, channel }) => ({ kind: 'silence', coin, channel, state, ...stamp }))
}
