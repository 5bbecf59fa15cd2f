import type { Batch, SilenceEvent } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import type { Listing } from '../../../domain/listing.ts'
import { Plausibility } from '../plausibility/plausibility.ts'
import { UniverseCache } from '../plausibility/universe-cache.ts'
import { ReceiveTimes } from '../timing/receive-times.ts'
import type { VenueChannel } from '../wire/channels.ts'
import { FrameDecoder } from '../wire/frame-decoder.ts'
import type { Universe } from '../wire/universe.ts'
import type { Arrival, ArrivalOf } from './arrival.ts'
import type { StaleCoin } from './coin-monitor.ts'
import { CoinMonitor } from './coin-monitor.ts'
import type { OnFeedEvent } from './feed-event.ts'
import type { IngestState, ProcessedFrame } from './frame-processor.ts'
import { FrameProcessor, silences } from './frame-processor.ts'
import type { KnownUntil } from './recent-trades.ts'
import { ReplyProcessor } from './reply-processor.ts'
import { SocketHealth } from './socket-health.ts'
import { TradeStream } from './trade-stream.ts'

type IngestOptions = {
  /** The feed is up once this many sockets received a frame. */
  readonly sockets: number
  readonly channels?: readonly VenueChannel[]
  /** Listings of the engine; they hold for a dex until its first universe. */
  readonly known?: readonly Listing[]
  /** The newest trade of a coin that the engine knew. */
  readonly tradesKnownUntilMs?: KnownUntil
  readonly onFeedEvent?: OnFeedEvent
  /** Receives every arrival before it is processed. */
  readonly onArrival?: OnArrival
}

export type OnArrival = (arrival: Arrival, nowMs: number) => void

/** The arrival without its kind, which the method names. */
type Of<Kind extends Arrival['kind']> = Omit<ArrivalOf<Kind>, 'kind'>

type Reply<K extends keyof ReplyProcessor> = ReplyProcessor[K] extends (...args: never[]) => infer R
  ? R
  : never

/**
 * Arrivals in, events out. A pure function of the arrivals and their times, so the replay of a recording gives the same
 * events.
 */
export class Ingest {
  readonly #onArrival: OnArrival | undefined
  readonly #state: IngestState
  readonly #frames: FrameProcessor
  readonly #replies: ReplyProcessor

  constructor(options: IngestOptions) {
    const { sockets, channels, known = [], tradesKnownUntilMs, onArrival } = options
    const { onFeedEvent = () => {} } = options
    const times = new ReceiveTimes()
    const universes = new UniverseCache(known)
    const monitor = new CoinMonitor()
    const plausibility = new Plausibility(universes, (one) =>
      onFeedEvent({ kind: 'value-dropped', ...one }),
    )
    const parts = { plausibility, monitor, times, onFeedEvent }
    this.#state = {
      ...parts,
      universes,
      decoder: new FrameDecoder(channels),
      trades: new TradeStream(parts, tradesKnownUntilMs),
      health: new SocketHealth(sockets, times),
    }
    this.#frames = new FrameProcessor(this.#state)
    this.#replies = new ReplyProcessor(this.#state)
    this.#onArrival = onArrival
  }

  /** Local clock minus venue clock, latency included; null before the first book. */
  get clockOffsetMs(): number | null {
    return this.#state.times.offsetMs
  }

  /** An instant of the local clock by the venue's clock. */
  venueMs(nowMs: number): number {
    return this.#state.times.venueMs(nowMs)
  }

  /** The perpetuals of all followed dexes, the main dex first. null: the row is unreadable. */
  get universe(): Universe {
    return this.#state.universes.all
  }

  /** Whether the universe of a dex is contradicted and neither confirmed nor replaced since. */
  isContradicted(dex: string): boolean {
    return this.#state.universes.isContradicted(dex)
  }

  /** Whether a coin has another collateral than USDC. */
  get hasOtherCollateral(): boolean {
    return this.#state.universes.hasOtherCollateral
  }

  /** Replays a recorded arrival. A rejected reply gives no events. */
  take(arrival: Arrival, nowMs: number): Batch {
    const { kind } = arrival
    switch (kind) {
      case 'frame':
        return this.frame(arrival.socket, arrival.text, nowMs).batch
      case 'lost':
        return this.lost(arrival, nowMs)
      case 'tick':
        return this.tick(nowMs).batch
      case 'ping':
        this.ping(arrival.socket, nowMs)
        return []
      case 'universe':
        return batchOf(this.universeReply(arrival, nowMs))
      case 'dex-dropped':
        return this.dropDex(arrival.dex, nowMs)
      case 'history':
        return batchOf(this.history(arrival, nowMs))
      case 'hours':
        return batchOf(this.hours(arrival, nowMs))
      case 'fundings':
        return batchOf(this.fundings(arrival, nowMs))
      case 'predictions':
        return batchOf(this.predictions(arrival, nowMs))
      case 'spot':
        return batchOf(this.spot(arrival, nowMs))
      case 'account':
        return batchOf(this.account(arrival, nowMs))
      case 'remembered':
        return this.loadedHistory(arrival.memory, nowMs)
      default:
        return kind satisfies never
    }
  }

  frame(socket: number, text: string, nowMs: number): ProcessedFrame {
    this.#onArrival?.({ kind: 'frame', socket, text }, nowMs)
    return this.#frames.process(socket, text, nowMs)
  }

  ping(socket: number, nowMs: number): void {
    this.#onArrival?.({ kind: 'ping', socket }, nowMs)
    this.#state.times.pinged(socket, nowMs)
  }

  /** A connection ended. Its data may be incomplete from shortly before on. */
  lost({ socket, reason, coins }: Of<'lost'>, nowMs: number): Batch {
    this.#onArrival?.({ kind: 'lost', socket, reason, coins }, nowMs)
    const { health, monitor, plausibility, times, trades } = this.#state
    times.lost(socket)
    plausibility.lost(socket)
    for (const coin of coins) {
      monitor.lost(coin)
      // The next connection begins with a replay, whether or not its acknowledgement arrives.
      trades.expectReplay(coin)
    }
    return [health.lost(socket, reason, coins, nowMs)]
  }

  /** Once per second. */
  tick(nowMs: number): { readonly batch: Batch; readonly silent: readonly StaleCoin[] } {
    this.#onArrival?.({ kind: 'tick' }, nowMs)
    const { health, monitor, times } = this.#state
    times.tick(nowMs)
    const silent = monitor.tick(nowMs)
    const found: readonly SilenceEvent[] = silences(silent, 'silent', times.stamp(nowMs))
    const status = health.tick(nowMs)
    return { batch: status === null ? found : [...found, status], silent }
  }

  universeReply({ request, dex, body }: Of<'universe'>, nowMs: number): Reply<'universe'> {
    this.#onArrival?.({ kind: 'universe', request, dex, body }, nowMs)
    return this.#replies.universe({ request, dex, body }, nowMs)
  }

  dropDex(dex: string, nowMs: number): Batch {
    this.#onArrival?.({ kind: 'dex-dropped', dex }, nowMs)
    return this.#replies.dropDex(dex, nowMs)
  }

  history(reply: Of<'history'>, nowMs: number): Reply<'history'> {
    const { coin, timeframe, fromMs, askedMs, body } = reply
    this.#onArrival?.({ kind: 'history', coin, timeframe, fromMs, askedMs, body }, nowMs)
    return this.#replies.history(reply, nowMs)
  }

  hours(reply: Of<'hours'>, nowMs: number): Reply<'hours'> {
    const { coin, fromMs, askedMs, body } = reply
    this.#onArrival?.({ kind: 'hours', coin, fromMs, askedMs, body }, nowMs)
    return this.#replies.hours(reply, nowMs)
  }

  fundings(reply: Of<'fundings'>, nowMs: number): Reply<'fundings'> {
    const { coin, fromMs, askedMs, body } = reply
    this.#onArrival?.({ kind: 'fundings', coin, fromMs, askedMs, body }, nowMs)
    return this.#replies.fundings(reply, nowMs)
  }

  predictions({ askedMs, body }: Of<'predictions'>, nowMs: number): Reply<'predictions'> {
    this.#onArrival?.({ kind: 'predictions', askedMs, body }, nowMs)
    return this.#replies.predictions({ askedMs, body })
  }

  spot({ askedMs, body }: Of<'spot'>, nowMs: number): Reply<'spot'> {
    this.#onArrival?.({ kind: 'spot', askedMs, body }, nowMs)
    return this.#replies.spot({ askedMs, body })
  }

  account({ account, askedMs, body }: Of<'account'>, nowMs: number): Reply<'account'> {
    this.#onArrival?.({ kind: 'account', account, askedMs, body }, nowMs)
    return this.#replies.account({ account, askedMs, body })
  }

  loadedHistory(memory: Memory, nowMs: number): Batch {
    this.#onArrival?.({ kind: 'remembered', memory }, nowMs)
    return this.#replies.loadedHistory(memory, nowMs)
  }
}

function batchOf(result: { readonly batch: Batch } | object): Batch {
  return 'batch' in result ? result.batch : []
}
