import type {
  Batch,
  FeedStatusEvent,
  MarketEvent,
  SilenceEvent,
  Stamped,
  TokenPrice,
  TradeEvent,
  TradeGapEvent,
} from '../../../domain/event.ts'
import type { FundingRow, Memory } from '../../../domain/history.ts'
import type { Listing } from '../../../domain/listing.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { FundingFilter } from '../plausibility/funding-filter.ts'
import { kept } from '../plausibility/kept.ts'
import { NamedPrices } from '../plausibility/named-prices.ts'
import type { Strangeness, Verdict } from '../plausibility/plausibility-filter.ts'
import { PlausibilityFilter } from '../plausibility/plausibility-filter.ts'
import { SpotPriceFilter } from '../plausibility/spot-price-filter.ts'
import { UniverseCache } from '../plausibility/universe-cache.ts'
import { ReceiveTimes } from '../timing/receive-times.ts'
import type { Position } from '../wire/account-state.ts'
import { decodeAccountState } from '../wire/account-state.ts'
import { decodeCandleSnapshot } from '../wire/candles.ts'
import { withSaneImpact } from '../wire/contexts.ts'
import type { Frame } from '../wire/frame-decoder.ts'
import { FrameDecoder } from '../wire/frame-decoder.ts'
import { decodeFundingHistory, decodePredictedFundings } from '../wire/fundings.ts'
import { decodeSpotPrices } from '../wire/spot-prices.ts'
import type { Universe } from '../wire/universe.ts'
import { decodeMeta, decodeMetaAndAssetContexts, dexOf } from '../wire/universe.ts'
import type { DropReason, Rejected } from '../wire/values.ts'
import { AccountBook } from './account-book.ts'
import type { Arrival } from './arrival.ts'
import type { StaleCoin } from './coin-monitor.ts'
import { CoinMonitor } from './coin-monitor.ts'
import type { OnFeedEvent } from './feed-event.ts'
import type { KnownUntil } from './recent-trades.ts'
import { gapBeside, TradeMemory } from './recent-trades.ts'

type IntakeOptions = {
  /** The feed is up once this many sockets, from 0 on, have heard the venue. */
  readonly sockets: number
  /** What the engine knew before: a dex that has not told anything yet still has these. */
  readonly known?: readonly Listing[]
  /** ... and of a coin's newest trade: whether the first replay reaches back to it. */
  readonly tradesKnownUntilMs?: KnownUntil
  readonly onFeedEvent?: OnFeedEvent
  /** Hears everything before it is taken in: the recorder. */
  readonly onArrival?: OnArrival
}

export type OnArrival = (arrival: Arrival, nowMs: number) => void

/** What a frame brought: events for the engine, and the frame for whoever keeps the connection. */
type Heard = {
  readonly frame: Frame
  readonly batch: Batch
  /** Coins that were silent and are heard again: what they missed has to be asked. */
  readonly recovered: readonly StaleCoin[]
  /** Dexes whose list of coins this frame contradicts: it has to be asked for. */
  readonly contradicted: readonly string[]
}

/**
 * How a context came by its coin: by a name of its own, by its place in the list that came with it, or by its place in
 * the list that came last, which may have changed since.
 */
type JoinedBy = 'name' | 'own list' | 'place'

type ArrivalOf<Kind extends Arrival['kind']> = Extract<Arrival, { kind: Kind }>

const NOBODY: readonly StaleCoin[] = []
const NO_DEXES: readonly string[] = []

/** Further apart, and one of the two clocks is wrong; what the way takes is included. */
const CLOCK_OFFSET_MS_MAX = 5_000
/** A frame of trades further from now, by any clock, is the replay that follows a subscription. */
const NEWS_AGE_MS_MAX = 3_000

/** How long after its end the venue may still change a bar. */
const CLOSED_AFTER_MS = 3_000

/**
 * Arrivals in, events out: the part of the feed that is a plain function of what arrived and when.
 * It opens nothing, waits for nothing and asks nobody, so a recording of its arrivals gives the same
 * events again.
 */
export class Ingest {
  readonly #sockets: number
  readonly #onFeedEvent: OnFeedEvent
  readonly #onArrival: OnArrival | undefined
  readonly #decoder = new FrameDecoder()
  readonly #trades: TradeMemory
  readonly #times = new ReceiveTimes()
  readonly #watch = new CoinMonitor()
  readonly #accounts = new AccountBook()
  readonly #doubt = new PlausibilityFilter()
  readonly #names = new NamedPrices()
  readonly #fundingDoubt = new FundingFilter()
  readonly #spotDoubt = new SpotPriceFilter()
  /** Candles of the present frame that were not believed: a hole, until history tells. */
  readonly #leftOut: StaleCoin[] = []
  /** Dexes whose list the present frame contradicts, of those that were not contradicted before it. */
  readonly #contradicted: string[] = []
  readonly #universes: UniverseCache
  /** Sockets that hear the venue. */
  readonly #up = new Set<number>()
  #isClockOff = false
  /** Coins whose next frame of trades is the replay that follows a subscription. */
  readonly #replayed = new Set<string>()

  constructor(options: IntakeOptions) {
    const { sockets, known = [], tradesKnownUntilMs, onFeedEvent = () => {}, onArrival } = options
    this.#trades = new TradeMemory(tradesKnownUntilMs)
    this.#sockets = sockets
    this.#universes = new UniverseCache(known)
    this.#onFeedEvent = onFeedEvent
    this.#onArrival = onArrival
  }

  /** Our clock minus the venue's, including the way; null before the first book. */
  get clockOffsetMs(): number | null {
    return this.#times.offsetMs
  }

  /** The perpetuals of all dexes that were told, the venue's own first. null holds an unread place. */
  get universe(): Universe {
    return this.#universes.all
  }

  /** Whether the list of a dex is in question: neither confirmed nor replaced since something contradicted it. */
  isContradicted(dex: string): boolean {
    return this.#universes.isContradicted(dex)
  }

  /** Some listed coin is in a unit that needs a price. */
  get hasOtherCollateral(): boolean {
    return this.#universes.hasOtherCollateral
  }

  /** Takes in a recorded arrival. What was rejected then is rejected again, and gives nothing. */
  take(arrival: Arrival, nowMs: number): Batch {
    switch (arrival.kind) {
      case 'frame':
        return this.frame(arrival.socket, arrival.text, nowMs).batch
      case 'lost':
        return this.lost(arrival, nowMs)
      case 'tick':
        return this.tick(nowMs).batch
      case 'ping':
        this.ping(arrival.socket, nowMs)
        return []
      case 'universe': {
        const taken = this.universeReply(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'dex-dropped':
        return this.dropDex(arrival.dex, nowMs)
      case 'history': {
        const taken = this.history(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'hours': {
        const taken = this.hours(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'fundings': {
        const taken = this.fundings(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'predictions': {
        const taken = this.predictions(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'spot': {
        const taken = this.spot(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'account': {
        const taken = this.account(arrival, nowMs)
        return 'batch' in taken ? taken.batch : []
      }
      case 'remembered':
        return this.remembered(arrival.memory, nowMs)
      default:
        return arrival satisfies never
    }
  }

  frame(socket: number, text: string, nowMs: number): Heard {
    this.#onArrival?.({ kind: 'frame', socket, text }, nowMs)
    this.#times.reading(nowMs)
    const frame = this.#decoder.decode(text, this.#times.latestMs(nowMs))
    if (frame.kind !== 'pong') this.#times.heard(socket, nowMs)
    let batch: Batch = []
    let recovered = NOBODY
    if (frame.kind === 'events') {
      this.#noteDrops(frame.drops)
      this.#times.noteTimeliness(frame, nowMs)
      const { misfits = [], unlisted = [], channel } = frame
      for (const dex of misfits) this.#contradict(dex)
      for (const mark of unlisted)
        if (this.#names.unlisted(mark, nowMs)) this.#contradict(dexOf(mark.coin))
      if (channel === 'fastAssetCtxs') this.#names.marksReceived(socket, nowMs)
      const isByPlace = channel === 'allDexsAssetCtxs'
      const events = isByPlace ? this.#ofTheirCoins(frame.events, nowMs) : frame.events
      const isReplay = this.#isReplay(events)
      const isOfPast = isReplay && !this.#isNews(events, nowMs)
      const believed = this.#admitted(events, isReplay, nowMs, isByPlace ? 'place' : 'name')
      const gaps = frame.lost?.map((coin) => this.#gapBeside(coin, believed, nowMs))
      const admitted = gaps === undefined ? believed : [...gaps, ...believed]
      // What is left of one whose newest trades could not be read is of the past as well.
      const isWhole = frame.drops.length === 0
      if (!isOfPast && isWhole && admitted[0]?.kind === 'trade')
        this.#times.traded(socket, admitted, nowMs)
      batch = this.#times.stamped(socket, admitted, nowMs)
      if (!isOfPast) recovered = this.#watch.heard(events, nowMs, this.#times.delayMs(socket))
      if (this.#leftOut.length > 0) recovered = [...recovered, ...this.#leftOut.splice(0)]
      if (recovered.length > 0)
        batch = [...silences(recovered, 'heard', this.#times.stamp(nowMs)), ...batch]
    } else if (frame.kind === 'acknowledged' || frame.kind === 'standing') {
      const { channel, coin, kind } = frame
      // What stands was replayed before, when its acknowledgement did not reach us.
      if (coin !== null && channel === 'trades' && kind === 'acknowledged') this.#replayed.add(coin)
      if (coin !== null && channel === 'l2Book') this.#watch.begin(coin, socket, nowMs)
      if (coin !== null && channel === 'candle' && kind === 'acknowledged')
        this.#watch.madeGood(coin, 'candle', nowMs)
    } else if (frame.kind === 'pong') {
      this.#times.ponged(socket, nowMs)
    } else if (frame.kind === 'rejected') {
      this.#onFeedEvent({ kind: 'frame-rejected', reason: frame.reason })
      if (frame.reason === 'context_length')
        for (const dex of this.#universes.dexes) this.#contradict(dex)
    } else if (frame.kind === 'refused') {
      this.#onFeedEvent(frame)
    }
    const found = this.#found(socket, nowMs)
    const contradicted = this.#contradicted.length === 0 ? NO_DEXES : this.#contradicted.splice(0)
    return { frame, batch: found === null ? batch : [found, ...batch], recovered, contradicted }
  }

  ping(socket: number, nowMs: number): void {
    this.#onArrival?.({ kind: 'ping', socket }, nowMs)
    this.#times.pinged(socket, nowMs)
  }

  /** An instant of ours by the venue's clock, as well as it is known. */
  venueMs(nowMs: number): number {
    return this.#times.venueMs(nowMs)
  }

  /** A connection ended: what came over it may be incomplete from shortly before on. */
  lost(arrival: Omit<ArrivalOf<'lost'>, 'kind'>, nowMs: number): Batch {
    const { socket, reason, coins } = arrival
    this.#onArrival?.({ kind: 'lost', socket, reason, coins }, nowMs)
    this.#up.delete(socket)
    this.#times.lost(socket)
    this.#names.lost(socket)
    for (const coin of coins) {
      this.#watch.lost(coin)
      // Whatever becomes of the acknowledgement, the next connection begins with a replay.
      this.#replayed.add(coin)
    }
    return [status('down', reason, coins, this.#times.stamp(nowMs))]
  }

  universeReply(
    arrival: Omit<ArrivalOf<'universe'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch; readonly isNew: boolean } | Rejected {
    const { request, dex, body } = arrival
    this.#onArrival?.({ kind: 'universe', request, dex, body }, nowMs)
    const known = this.#universes.of(dex)
    const reply =
      request === 'meta'
        ? decodeMeta(body, dex, known)
        : decodeMetaAndAssetContexts(body, nowMs, dex, known)
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    const taken = this.#universes.take(dex, reply.universe)
    if ('kind' in taken) return taken
    const contexts =
      reply.kind === 'meta' ? [] : this.#believedContexts(reply.contexts, nowMs, 'own list')
    const { isNew } = taken
    if (!isNew) return { batch: contexts, isNew }
    this.#decoder.setUniverse(reply.universe, dex)
    const { listings } = this.#universes
    const listed = new Set(listings.map(({ coin }) => coin))
    this.#names.keep((coin) => listed.has(coin))
    for (const { coin, isDelisted } of listings) if (isDelisted) this.#watch.end(coin)
    return {
      batch: [{ kind: 'universe', listings, ...this.#times.stamp(nowMs) }, ...contexts],
      isNew,
    }
  }

  /** Nothing of this dex is listed, read or watched any more. */
  dropDex(dex: string, nowMs: number): Batch {
    this.#onArrival?.({ kind: 'dex-dropped', dex }, nowMs)
    for (const { coin } of this.#universes.listings) if (dexOf(coin) === dex) this.#watch.end(coin)
    this.#universes.drop(dex)
    this.#decoder.dropUniverse(dex)
    return [{ kind: 'universe', listings: this.#universes.listings, ...this.#times.stamp(nowMs) }]
  }

  history(
    arrival: Omit<ArrivalOf<'history'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { coin, timeframe, fromMs, askedMs, body } = arrival
    this.#onArrival?.({ kind: 'history', coin, timeframe, fromMs, askedMs, body }, nowMs)
    const reply = decodeCandleSnapshot(
      body,
      { coin, timeframe, fromMs },
      this.#times.latestMs(nowMs),
    )
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    // What it says is as of the question, however long the answer took.
    const times = this.#times.stamp(askedMs)
    const { bars } = reply
    return { batch: [{ kind: 'history', coin, timeframe, bars, fromMs, ...times }] }
  }

  /** 1h bars that were closed when they were asked. */
  hours(
    arrival: Omit<ArrivalOf<'hours'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { coin, fromMs, askedMs, body } = arrival
    this.#onArrival?.({ kind: 'hours', coin, fromMs, askedMs, body }, nowMs)
    const latestMs = this.#times.latestMs(nowMs)
    const reply = decodeCandleSnapshot(body, { coin, timeframe: '1h', fromMs }, latestMs)
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    const times = this.#times.stamp(askedMs)
    const closedMs = times.timeExchangeMs - CLOSED_AFTER_MS - timeframeMs['1h']
    const bars = reply.bars.filter(({ openTimeMs }) => openTimeMs <= closedMs)
    const event = { kind: 'hourly-history', coin, bars, fromMs, ...times } as const
    return { batch: bars.length === 0 ? [] : [event] }
  }

  /** @returns also whether all that came is believed, so that an hour which is missing is not to be had. */
  fundings(
    arrival: Omit<ArrivalOf<'fundings'>, 'kind'>,
    nowMs: number,
  ):
    | { readonly batch: Batch; readonly rows: readonly FundingRow[]; readonly isWhole: boolean }
    | Rejected {
    const { coin, fromMs, askedMs, body } = arrival
    this.#onArrival?.({ kind: 'fundings', coin, fromMs, askedMs, body }, nowMs)
    const reply = decodeFundingHistory(body, { coin, fromMs }, nowMs)
    if (reply.kind === 'rejected') return reply
    const rows = this.#fundingDoubt.believed(coin, reply.rows)
    const doubted = new Array<DropReason>(reply.rows.length - rows.length).fill('doubtful_figure')
    const drops = [...reply.drops, ...doubted]
    this.#noteDrops(drops)
    const event = { kind: 'funding-history', coin, rows, ...this.#times.stamp(askedMs) } as const
    return { batch: rows.length === 0 ? [] : [event], rows, isWhole: drops.length === 0 }
  }

  predictions(
    arrival: Omit<ArrivalOf<'predictions'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { askedMs, body } = arrival
    this.#onArrival?.({ kind: 'predictions', askedMs, body }, nowMs)
    const listed = new Set(this.universe.map((listing) => listing?.coin))
    const times = this.#times.stamp(askedMs)
    const isListed = (coin: string) => listed.has(coin)
    const reply = decodePredictedFundings(body, isListed, times.timeExchangeMs)
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    return { batch: reply.coins.map((row) => ({ kind: 'venue-fundings', ...row, ...times })) }
  }

  /** What the collateral of other dexes is worth. */
  spot(
    arrival: Omit<ArrivalOf<'spot'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch; readonly tokens: readonly TokenPrice[] } | Rejected {
    const { askedMs, body } = arrival
    this.#onArrival?.({ kind: 'spot', askedMs, body }, nowMs)
    const reply = decodeSpotPrices(body)
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    const tokens = this.#spotDoubt.believed(reply.tokens)
    return { batch: [{ kind: 'collateral-prices', tokens, ...this.#times.stamp(askedMs) }], tokens }
  }

  /** What one account holds, and what it holds no more. */
  account(
    arrival: Omit<ArrivalOf<'account'>, 'kind'>,
    nowMs: number,
  ): { readonly batch: Batch; readonly positions: readonly Position[] } | Rejected {
    const { account, askedMs, body } = arrival
    this.#onArrival?.({ kind: 'account', account, askedMs, body }, nowMs)
    const listed = new Set(this.universe.flatMap((listing) => listing?.coin ?? []))
    const reply = decodeAccountState(body, listed)
    if (reply.kind === 'rejected') return reply
    this.#noteDrops(reply.drops)
    const batch = this.#accounts.take(account, reply, this.#times.stamp(askedMs))
    return { batch, positions: reply.positions }
  }

  remembered(memory: Memory, nowMs: number): Batch {
    this.#onArrival?.({ kind: 'remembered', memory }, nowMs)
    const { coin } = memory
    const times = this.#times.stamp(nowMs)
    const isRemembered = true
    switch (memory.series) {
      case 'fundings':
        return [{ kind: 'funding-history', coin, rows: memory.rows, isRemembered, ...times }]
      case 'hours':
        return [{ kind: 'hourly-history', coin, bars: memory.rows, isRemembered, ...times }]
      case 'quarters':
      case 'minutes':
        return [{ kind: 'sample-history', coin, samples: memory.rows, ...times }]
      default:
        return memory satisfies never
    }
  }

  /** Called every second. */
  tick(nowMs: number): { readonly batch: Batch; readonly silent: readonly StaleCoin[] } {
    this.#onArrival?.({ kind: 'tick' }, nowMs)
    this.#times.tick(nowMs)
    const silent = this.#watch.tick(nowMs)
    const events: MarketEvent[] = [...silences(silent, 'silent', this.#times.stamp(nowMs))]
    const isClockOff = Math.abs(this.#times.offsetMs ?? 0) > CLOCK_OFFSET_MS_MAX
    if (isClockOff !== this.#isClockOff) {
      this.#isClockOff = isClockOff
      if (this.#isWhole) events.push(this.#whole(nowMs))
    }
    return { batch: events, silent }
  }

  /** Every socket hears the venue. */
  get #isWhole(): boolean {
    return this.#up.size === this.#sockets
  }

  #whole(nowMs: number): FeedStatusEvent {
    return this.#isClockOff
      ? status('degraded', 'clock_offset', [], this.#times.stamp(nowMs))
      : status('up', 'connected', [], this.#times.stamp(nowMs))
  }

  #noteDrops(drops: readonly DropReason[]): void {
    for (const reason of drops) this.#onFeedEvent({ kind: 'value-dropped', reason })
  }

  /** @returns the word that the feed is whole, with the last socket that was missing. */
  #found(socket: number, nowMs: number): FeedStatusEvent | null {
    if (this.#up.has(socket)) return null
    this.#up.add(socket)
    return this.#isWhole ? this.#whole(nowMs) : null
  }

  #isReplay(events: Batch): boolean {
    const [first] = events
    return this.#replayed.size > 0 && first?.kind === 'trade' && this.#replayed.delete(first.coin)
  }

  /** Where the replay itself was lost, the first frame of trades is of the present. */
  #isNews(trades: Batch, nowMs: number): boolean {
    const venueMs = this.venueMs(nowMs)
    return trades.every(
      ({ timeExchangeMs }) => Math.abs(venueMs - timeExchangeMs) <= NEWS_AGE_MS_MAX,
    )
  }

  #contradict(dex: string): void {
    if (this.#universes.contradict(dex)) this.#contradicted.push(dex)
  }

  /**
   * Of contexts that are joined to coins by place, those that belong to these coins. One at another price than its coin
   * has by name contradicts the list; while a list is contradicted, a price by name has to confirm each of its rows.
   */
  #ofTheirCoins(contexts: Batch, nowMs: number): Batch {
    const own = kept(contexts, (event) => {
      if (event.kind !== 'context' || !this.#names.isOfOther(event, nowMs)) return true
      this.#contradict(dexOf(event.coin))
      this.#noteDrops(['unconfirmed_row'])
      return false
    })
    return this.#confirmedOf(own, nowMs)
  }

  /** Without rows of a contradicted list that no price by name confirms. */
  #confirmedOf(contexts: Batch, nowMs: number): Batch {
    if (!this.#universes.isAnyContradicted) return contexts
    return kept(contexts, (event) => {
      if (event.kind !== 'context' || !this.#universes.isContradicted(dexOf(event.coin)))
        return true
      const isConfirmed = this.#names.isConfirmed(event, nowMs)
      if (!isConfirmed) this.#noteDrops(['unconfirmed_row'])
      return isConfirmed
    })
  }

  /** Trades that were delivered before are left out; a frame holds one kind of event. */
  #admitted(events: Batch, isReplay: boolean, nowMs: number, joinedBy: JoinedBy): Batch {
    const [first] = events
    if (first?.kind === 'context') return this.#believedContexts(events, nowMs, joinedBy)
    if (first?.kind !== 'trade') return this.#believed(events, nowMs)
    if (areTradesOf(first.coin, events))
      return this.#admittedOf(first.coin, events, isReplay, nowMs)
    const trades = events.filter((event): event is TradeEvent => event.kind === 'trade')
    const coins = new Set(trades.map((trade) => trade.coin))
    return Array.from(coins).flatMap((each) =>
      this.#admittedOf(
        each,
        trades.filter((trade) => trade.coin === each),
        isReplay,
        nowMs,
      ),
    )
  }

  #admittedOf(
    coin: string,
    trades: readonly TradeEvent[],
    isReplay: boolean,
    nowMs: number,
  ): Batch {
    const { fresh, repeated, gap } = this.#trades.admit(coin, trades, isReplay)
    if (gap === null && isReplay && repeated > 0) {
      this.#onFeedEvent({ kind: 'trades-bridged', coin, repeated, fresh: fresh.length })
      if (fresh.length > 0) this.#watch.madeGood(coin, 'trades', nowMs)
    }
    const credible = kept(fresh, (trade) => !this.#doubt.isTradeStrange(trade, nowMs))
    if (credible.length === fresh.length) return gap === null ? credible : [gap, ...credible]
    this.#noteDrops(['doubtful_figure'])
    return [gap ?? this.#gapBeside(coin, credible, nowMs), ...credible]
  }

  #gapBeside(coin: string, trades: Batch, nowMs: number): TradeGapEvent {
    return gapBeside(coin, trades, { venueMs: this.venueMs(nowMs), nowMs })
  }

  #believed(events: Batch, nowMs: number): Batch {
    return kept(events, (event) => {
      const verdict = this.#verdictOn(event, nowMs)
      if (verdict === 'refuted') this.#noteDrops(['doubtful_figure'])
      return verdict !== 'waits'
    })
  }

  #believedContexts(events: Batch, nowMs: number, joinedBy: JoinedBy): Batch {
    const believed = kept(events, (event) => {
      if (event.kind !== 'context') return true
      const isKnown = this.#doubt.knowsContextOf(event.coin)
      const verdict = this.#doubt.context(event, nowMs)
      if (verdict === 'refuted') this.#noteDrops(['doubtful_figure'])
      if (verdict !== 'waits' && joinedBy === 'name') this.#names.context(event, nowMs)
      // Repeated by the channel without names, it would be believed: the list has to be confirmed before that.
      if (verdict === 'waits' && joinedBy === 'place' && isKnown)
        if (!this.#names.isConfirmed(event, nowMs)) this.#contradict(dexOf(event.coin))
      return verdict !== 'waits'
    })
    return this.#withSaneImpacts(
      joinedBy === 'place' ? this.#confirmedOf(believed, nowMs) : believed,
    )
  }

  #withSaneImpacts(contexts: Batch): Batch {
    let sane: MarketEvent[] | null = null
    for (const [at, event] of contexts.entries()) {
      if (event.kind !== 'context') continue
      const one = withSaneImpact(event)
      if (one === event) continue
      sane ??= [...contexts]
      sane[at] = one
      this.#noteDrops(['doubtful_figure'])
    }
    return sane ?? contexts
  }

  #verdictOn(event: MarketEvent, nowMs: number): Verdict {
    switch (event.kind) {
      case 'mark': {
        const verdict = this.#doubt.mark(event, nowMs)
        if (verdict !== 'waits') this.#names.mark(event, nowMs)
        return verdict
      }
      case 'book':
      case 'top-of-book': {
        const strangeness = this.#doubt.book(event, nowMs)
        if (strangeness === 'none') this.#names.book(event, nowMs)
        return this.#verdictOf(strangeness)
      }
      case 'candle': {
        const strangeness = this.#doubt.candle(event, nowMs)
        // Known to be missing, it is asked for; the venue's reply is not doubted.
        if (strangeness === 'new')
          this.#leftOut.push({ coin: event.coin, channel: 'candle', times: 1 })
        return this.#verdictOf(strangeness)
      }
      default:
        return 'believed'
    }
  }

  #verdictOf(strangeness: Strangeness): Verdict {
    if (strangeness === 'none') return 'believed'
    this.#noteDrops(['doubtful_figure'])
    return 'waits'
  }
}

function areTradesOf(coin: string, events: Batch): events is readonly TradeEvent[] {
  return events.every((event) => event.kind === 'trade' && event.coin === coin)
}

function status(
  state: FeedStatusEvent['state'],
  reason: string,
  coins: readonly string[],
  stamp: Stamped,
): FeedStatusEvent {
  return { kind: 'feed-status', feed: 'venue', state, reason, coins, ...stamp }
}

function silences(
  found: readonly StaleCoin[],
  state: SilenceEvent['state'],
  stamp: Stamped,
): readonly SilenceEvent[] {
  return found.map(({ coin, channel }) => ({
    kind: 'silence',
    coin,
    channel,
    state,
    ...stamp,
  }))
}
