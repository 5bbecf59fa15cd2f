import type { Batch } from '../../../domain/event.ts'
import type { Listing } from '../../../domain/listing.ts'
import { Plausibility } from '../plausibility/plausibility.ts'
import { UniverseCache } from '../plausibility/universe-cache.ts'
import { ReceiveTimes } from '../timing/receive-times.ts'
import type { VenueChannel } from '../wire/channels.ts'
import { FrameDecoder } from '../wire/frame-decoder.ts'
import type { Rejected } from '../wire/rejection.ts'
import type { Universe } from '../wire/universe.ts'
import type { Arrival, ArrivalOf } from './arrival.ts'
import { CoinMonitor } from './coin-monitor.ts'
import type { OnFeedEvent } from './feed-event.ts'
import type { IngestState } from './frame-processor.ts'
import { FrameProcessor, silences } from './frame-processor.ts'
import type { KnownTrades } from './recent-trades.ts'
import { ReplyProcessor } from './reply-processor.ts'
import { SocketHealth } from './socket-health.ts'
import { TradeStream } from './trade-stream.ts'

export type IngestOptions = {
  /** Number of WebSocket connections, 1 to 8. The feed is up once all have received a frame. */
  readonly sockets: number
  /** Channels of single coins; those of the product by default. */
  readonly channels?: readonly VenueChannel[]
  /** Listings that the engine knows. Their local history is loaded at once; they hold for a dex until its first universe. */
  readonly known?: readonly Listing[]
  readonly knownTrades?: KnownTrades
  readonly onFeedEvent?: OnFeedEvent
  /** Receives every arrival before it is processed. */
  readonly onArrival?: OnArrival
}

export type OnArrival = (arrival: Arrival, nowMs: number) => void

/** What an arrival of a kind gives; a rejected reply gives no events. */
type Outcome<Kind extends Arrival['kind']> = ReturnType<Processors[Kind]>
type Processors = ReturnType<typeof processorsOf>

/**
 * Arrivals in, events out. A pure function of the arrivals and their times, so the replay of a recording gives the same
 * events.
 */
export class Ingest {
  readonly #onArrival: OnArrival | undefined
  readonly #state: IngestState
  readonly #processors: Processors

  constructor(options: IngestOptions) {
    const { sockets, channels, known = [], knownTrades, onArrival } = options
    const { onFeedEvent = () => {} } = options
    const times = new ReceiveTimes()
    const universes = new UniverseCache(known)
    const monitor = new CoinMonitor()
    const plausibility = new Plausibility(universes, (one) =>
      onFeedEvent({ kind: 'value-dropped', ...one }),
    )
    const parts = { plausibility, monitor, times, onFeedEvent }
    const trades = new TradeStream(parts, knownTrades)
    for (const { coin } of known) trades.interrupted(coin)
    this.#state = {
      ...parts,
      universes,
      decoder: new FrameDecoder(channels),
      trades,
      health: new SocketHealth(sockets, times),
    }
    this.#processors = processorsOf(this.#state)
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

  process<A extends Arrival>(arrival: A, nowMs: number): Outcome<A['kind']> {
    this.#onArrival?.(arrival, nowMs)
    const process: (arrival: never, nowMs: number) => object = this.#processors[arrival.kind]
    // The compiler does not see that the processor is the one of this arrival.
    return process(arrival as never, nowMs) as Outcome<A['kind']>
  }

  /** The events of a recorded arrival. */
  take(arrival: Arrival, nowMs: number): Batch {
    const outcome = this.process(arrival, nowMs)
    return 'batch' in outcome ? outcome.batch : []
  }
}

function processorsOf(state: IngestState) {
  const frames = new FrameProcessor(state)
  const replies = new ReplyProcessor(state)
  return {
    frame: ({ socket, text }: ArrivalOf<'frame'>, nowMs: number) =>
      frames.process(socket, text, nowMs),
    ping: ({ socket }: ArrivalOf<'ping'>, nowMs: number) => {
      state.times.pinged(socket, nowMs)
      return { batch: [] }
    },
    lost: (arrival: ArrivalOf<'lost'>, nowMs: number) => lost(arrival, state, nowMs),
    tick: (_: ArrivalOf<'tick'>, nowMs: number) => tick(state, nowMs),
    universe: (reply: ArrivalOf<'universe'>, nowMs: number) => replies.universe(reply, nowMs),
    'dex-dropped': ({ dex }: ArrivalOf<'dex-dropped'>, nowMs: number) => ({
      batch: replies.dropDex(dex, nowMs),
    }),
    history: (reply: ArrivalOf<'history'>, nowMs: number) => replies.history(reply, nowMs),
    hours: (reply: ArrivalOf<'hours'>, nowMs: number) => replies.hours(reply, nowMs),
    fundings: (reply: ArrivalOf<'fundings'>, nowMs: number) => replies.fundings(reply, nowMs),
    predictions: (reply: ArrivalOf<'predictions'>) => replies.predictions(reply),
    spot: (reply: ArrivalOf<'spot'>) => replies.spot(reply),
    account: (reply: ArrivalOf<'account'>) => replies.account(reply),
    fills: (reply: ArrivalOf<'fills'>, nowMs: number) => replies.fills(reply, nowMs),
    vaults: (reply: ArrivalOf<'vaults'>, nowMs: number) => replies.vaults(reply, nowMs),
    remembered: ({ memory }: ArrivalOf<'remembered'>, nowMs: number) => ({
      batch: replies.loadedHistory(memory, nowMs),
    }),
  } satisfies {
    [Kind in Arrival['kind']]: (
      arrival: ArrivalOf<Kind>,
      nowMs: number,
    ) => { readonly batch: Batch } | Rejected
  }
}

/** A connection ended. Its data may be incomplete from shortly before on. */
function lost(
  { socket, reason, coins }: ArrivalOf<'lost'>,
  { health, monitor, plausibility, times, trades }: IngestState,
  nowMs: number,
): { readonly batch: Batch } {
  times.lost(socket)
  plausibility.lost(socket)
  for (const coin of coins) {
    monitor.lost(coin)
    trades.interrupted(coin)
  }
  return { batch: [health.lost(socket, reason, coins, nowMs)] }
}

/** Once per second. */
function tick({ health, monitor, times }: IngestState, nowMs: number) {
  times.tick(nowMs)
  const silent = monitor.tick(nowMs)
  const found: Batch = silences(silent, 'silent', times.stamp(nowMs))
  const status = health.tick(nowMs)
  return { batch: status === null ? found : [...found, status], silent }
}
