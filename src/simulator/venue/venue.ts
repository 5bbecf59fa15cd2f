import assert from 'node:assert/strict'
import type { Clock } from '../../domain/clock.ts'
import type { BuilderDex } from '../market/builder-dexes.ts'
import type { NewFates } from '../market/coin-positions.ts'
import type { Market, NewListing, Trade } from '../market/market.ts'
import { candleIntervalMs } from '../market/market.ts'
import { drift, noiseKey, uniform } from '../market/noise.ts'
import { ActiveFaults } from './active-faults.ts'
import { Addresses } from './addresses.ts'
import { Dexes } from './dexes.ts'
import { FastContexts } from './fast-contexts.ts'
import type { LastingFault, VenueFault } from './fault.ts'
import {
  bboFrame,
  bestPrices,
  bookFrame,
  candleFrame,
  firstUserFrame,
  stateFrame,
  tradesFrame,
} from './frames.ts'
import type { VenueInstant } from './info-answer.ts'
import type { HttpAnswer } from './info-endpoint.ts'
import { InfoEndpoint } from './info-endpoint.ts'
import type { VenueCadences, VenueLimits } from './limits.ts'
import type { Peer, SessionHost } from './session.ts'
import { Session } from './session.ts'
import { isSpotPair } from './spot.ts'
import type { Subscription } from './subscription.ts'

const REPLAYED_TRADES = 30
/** A book's first frame comes this long after the acknowledgement. */
const FIRST_BOOK_MS_MIN = 100
const FIRST_BOOK_MS_SPAN = 200
/** An unknown coin ends the connection after so long. */
const DROP_AFTER_MS_MIN = 90
const DROP_AFTER_MS_SPAN = 65
/** A refused connection lives this long at most. */
const REFUSED_MS_MAX = 1000
const SILENCE_CHECK_MS = 1000
/** One coin each time: all of them have had their turn within the hour. */
const ACCOUNTS_ADVANCE_MS = 10_000
/** Bounds of the age of the venue's data, which varies over seconds. */
const AGE_MS_MIN = 200
const AGE_MS_MAX = 900
const AGE_WANDER_MS = 5000

const venueKey = noiseKey(0, 'venue')
const dropKey = noiseKey(0, 'drop')

type Topic = {
  readonly key: string
  readonly subscription: Subscription
  readonly sessions: Set<Session>
  /** Best prices as sent last: repeated ones are not sent. */
  sentBbo: string | undefined
}

/** The venue's protocol without its sockets: sessions and requests in, frames and replies out. */
export class Venue implements SessionHost {
  readonly limits: VenueLimits
  readonly #dexes: Dexes
  readonly #clock: Clock
  readonly #cadences: VenueCadences
  readonly #topics = new Map<string, Topic>()
  readonly #sessions = new Set<Session>()
  readonly #addresses: Addresses
  readonly #endpoint: InfoEndpoint
  readonly #fastContexts = new FastContexts()
  readonly #stops = new Set<() => void>()
  readonly #faults = new ActiveFaults()
  /** Trades up to here have been sent. */
  #blockViewMs: number
  #subscribedCount = 0
  #dropCount = 0
  /** Draws of chance that faults have used. */
  #faultDraws = 0

  constructor(options: {
    readonly market: Market
    /** Builder-deployed dexes; none if absent. */
    readonly builders?: readonly BuilderDex[]
    /** Without it liquidations follow from the market alone. */
    readonly newFates?: NewFates
    readonly clock: Clock
    readonly limits: VenueLimits
    readonly cadences: VenueCadences
  }) {
    this.#clock = options.clock
    this.#dexes = new Dexes(
      options.market,
      options.builders ?? [],
      this.#viewMs(),
      options.newFates,
    )
    this.limits = options.limits
    this.#addresses = new Addresses(options.limits)
    this.#endpoint = new InfoEndpoint({
      dexes: this.#dexes,
      faults: this.#faults,
      view: () => this.#view(),
    })
    this.#cadences = options.cadences
    this.#blockViewMs = this.#viewMs()
    const { clock, cadences } = options
    for (const stop of [
      clock.every(cadences.blockMs, () => this.#sendBlock()),
      clock.every(cadences.l2BookMs, () => this.#sendBooks(false)),
      clock.every(cadences.fastL2BookMs, () => this.#sendBooks(true)),
      clock.every(cadences.activeAssetCtxMs, () => this.#sendType('activeAssetCtx')),
      clock.every(cadences.fastAssetCtxsMs, () => this.#sendFastContexts()),
      clock.every(cadences.allDexsAssetCtxsMs, () => this.#sendType('allDexsAssetCtxs')),
      clock.every(cadences.allDexsAssetCtxsMs, () => this.#sendType('assetCtxs')),
      clock.every(cadences.allMidsMs, () => this.#sendType('allMids')),
      clock.every(SILENCE_CHECK_MS, () => this.#dropSilent()),
      clock.every(ACCOUNTS_ADVANCE_MS, () => this.#dexes.accounts.advance(this.#viewMs())),
    ]) {
      this.#stops.add(stop)
    }
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  get subscriptionRefusal(): 'silent' | 'error' | undefined {
    return this.#faults.subscriptionRefusal
  }

  frameDelayMs(session: Session): number {
    return this.#faults.delayMs(session)
  }

  isKnown(subscription: Subscription): boolean {
    if (!('coin' in subscription)) return true
    const { coin } = subscription
    return this.#dexes.instrument(coin) !== undefined || isSpotPair(coin)
  }

  isDex(name: string): boolean {
    return this.#dexes.named(name) !== undefined
  }

  /** @returns undefined when the address may not connect now, or the recording is in its outage. */
  connect(address: string, peer: Peer): Session | undefined {
    const use = this.#addresses.use(address)
    if (this.#dexes.main.market.isOutage(this.#viewMs())) return undefined
    // One that is refused for being the eleventh was an attempt all the same.
    if (!use.newConnections.take(1, this.nowMs())) return undefined
    if (use.connections >= this.limits.connectionsMax) return undefined
    const session = new Session(peer, use, this)
    this.#sessions.add(session)
    this.#refuse(session)
    return session
  }

  /** Begins a fault, or does what it does once. @returns false where there was nothing for it to befall. */
  inject(fault: VenueFault): boolean {
    switch (fault.kind) {
      case 'drop-connections': {
        const befallen = this.#befallen(fault.connection)
        for (const session of befallen) session.drop(fault.code)
        return befallen.length > 0
      }
      case 'list':
        this.addListing(fault.listing)
        return true
      case 'delist': {
        const isTraded = this.#dexes.instrument(fault.coin)?.isDelisted === false
        this.delist(fault.coin)
        return isTraded
      }
      case 'relist':
        this.#dexes.marketOf(fault.coin).relist(fault.coin)
        return true
      default:
        return this.#begin(fault)
    }
  }

  /** Answers the body of one `POST /info`; undefined while requests hang. */
  info(address: string, text: string): HttpAnswer | undefined {
    return this.#endpoint.http(this.#addresses.use(address), text, this.nowMs())
  }

  subscribed(session: Session, key: string, subscription: Subscription): void {
    const topic = this.#topics.get(key) ?? {
      key,
      subscription,
      sessions: new Set(),
      sentBbo: undefined,
    }
    this.#topics.set(key, topic)
    topic.sessions.add(session)
    if (subscription.type !== 'l2Book') {
      if (!this.#isStalled(topic)) this.#sendFirst(session, topic)
      return
    }
    const delayMs =
      FIRST_BOOK_MS_MIN + FIRST_BOOK_MS_SPAN * uniform(venueKey, this.#subscribedCount++)
    this.#later(delayMs, () => {
      if (!topic.sessions.has(session) || this.#isStalled(topic)) return
      this.#push(session, topic, bookFrame(this.#dexes, subscription, this.#view()))
    })
  }

  unsubscribed(session: Session, key: string): void {
    const topic = this.#topics.get(key)
    topic?.sessions.delete(session)
    if (topic?.sessions.size === 0) this.#topics.delete(key)
  }

  posted(session: Session, id: number, request: unknown): void {
    session.use.pendingPosts++
    this.#later(this.#cadences.postReplyMs, () => {
      session.use.pendingPosts--
      const response = this.#endpoint.post(session.use, request, this.nowMs())
      session.send(JSON.stringify({ channel: 'post', data: { id, response } }))
    })
  }

  dropSoon(session: Session): void {
    const share = uniform(dropKey, this.#dropCount++)
    this.#later(DROP_AFTER_MS_MIN + DROP_AFTER_MS_SPAN * share, () => session.drop())
  }

  closed(session: Session): void {
    this.#sessions.delete(session)
    this.#faults.forget(session)
    for (const key of session.keys) this.unsubscribed(session, key)
  }

  dropConnections(): void {
    for (const session of this.#befallen(undefined)) session.drop()
  }

  addListing(listing: NewListing): void {
    const dex = this.#dexes.dexOf(listing.coin)
    assert(dex !== undefined, `${listing.coin} belongs to no dex`)
    dex.market.addListing(listing, this.nowMs())
  }

  delist(coin: string): void {
    this.#dexes.marketOf(coin).delist(coin, this.nowMs())
  }

  close(): void {
    for (const stop of this.#stops) stop()
    this.dropConnections()
  }

  #begin(fault: LastingFault): boolean {
    const one = 'connection' in fault ? fault.connection : undefined
    const befallen = this.#befallen(one)
    // Connections that come later are spared.
    const isOfOpenOnes = one !== undefined || fault.kind === 'half-open'
    if (isOfOpenOnes && befallen.length === 0) return false
    const endFault = this.#faults.begin(fault, one === undefined ? undefined : befallen[0])
    const cutOff = fault.kind === 'half-open' ? befallen : []
    for (const session of cutOff) session.cutOff()
    if (fault.kind === 'refuse-connections') {
      for (const session of this.#sessions) this.#refuse(session)
    }
    this.#later(fault.durationMs, () => {
      endFault()
      for (const session of cutOff) session.endCutOff()
      this.#sendLate()
    })
    return true
  }

  /** Open connections, or the one of them that a fault names. */
  #befallen(connection: number | undefined): readonly Session[] {
    const open = [...this.#sessions]
    if (connection === undefined) return open
    const one = open[connection % open.length]
    return one === undefined ? [] : [one]
  }

  /** While connections are refused, this one ends within a second. */
  #refuse(session: Session): void {
    const key = this.#faults.keyOf('refuse-connections')
    if (key === undefined) return
    this.#later(REFUSED_MS_MAX * uniform(key, this.#faultDraws++), () => {
      if (this.#faults.keyOf('refuse-connections') !== undefined) session.drop()
    })
  }

  #sendLate(): void {
    for (const session of this.#sessions) session.sendLate()
  }

  /** One frame with data to one subscriber, as far as the faults of this moment let it pass. */
  #push(session: Session, topic: Topic, text: string): void {
    for (const frame of this.#faults.passing(text, session, topic.key)) session.send(frame)
  }

  #broadcast(topic: Topic, text: string | undefined): void {
    if (text === undefined) return
    for (const session of [...topic.sessions]) this.#push(session, topic, text)
  }

  #isStalled({ subscription }: Topic): boolean {
    switch (subscription.type) {
      case 'trades':
      case 'bbo':
      case 'l2Book':
      case 'candle':
      case 'activeAssetCtx':
        return this.#faults.isStalled(subscription.coin, subscription.type)
      default:
        return false
    }
  }

  /** Once, unless the venue closes before. */
  #later(delayMs: number, task: () => void): void {
    const stop = this.#clock.after(delayMs, () => {
      this.#stops.delete(stop)
      task()
    })
    this.#stops.add(stop)
  }

  /** The instant of the venue's data: slightly behind the clock, and never decreasing. */
  #viewMs(): number {
    const nowMs = this.#clock.nowMs()
    const share = (1 + drift(venueKey, nowMs / AGE_WANDER_MS)) / 2
    return Math.floor(nowMs - AGE_MS_MIN - (AGE_MS_MAX - AGE_MS_MIN) * share)
  }

  /** The same instant as the venue's clock stamps it. */
  #stampMs(viewMs: number): number {
    return viewMs + this.#faults.skewMs
  }

  #view(): VenueInstant {
    const atMs = this.#viewMs()
    const isFlatBarLate = this.#faults.keyOf('late-flat-bars') !== undefined
    return { atMs, stampMs: this.#stampMs(atMs), isFlatBarLate }
  }

  /** What a channel says right after its acknowledgement, where it says anything. */
  #sendFirst(session: Session, topic: Topic): void {
    const { subscription } = topic
    const viewMs = this.#viewMs()
    switch (subscription.type) {
      case 'trades': {
        const { coin } = subscription
        // As of the last block, so that the next one continues without a gap or a repetition.
        const market = this.#dexes.marketOf(coin)
        const trades = market.lastTrades(coin, this.#blockViewMs, REPLAYED_TRADES)
        if (trades.length > 0) this.#push(session, topic, tradesFrame(this.#dexes, coin, trades))
        return
      }
      case 'bbo': {
        topic.sentBbo ??= bestPrices(this.#dexes, subscription.coin, this.#blockViewMs)
        if (topic.sentBbo !== undefined)
          this.#push(session, topic, bboFrame(topic.sentBbo, this.#stampMs(viewMs)))
        return
      }
      case 'fastAssetCtxs':
        if (topic.sessions.size === 1) this.#fastContexts.tick(this.#dexes, viewMs)
        this.#push(session, topic, this.#fastContexts.snapshot())
        return
      case 'l2Book':
      case 'candle':
        return
      case 'userFills':
      case 'userFundings':
      case 'userNonFundingLedgerUpdates':
      case 'userEvents':
      case 'orderUpdates': {
        const text = firstUserFrame(subscription)
        if (text !== undefined) this.#push(session, topic, text)
        return
      }
      default: {
        const text = stateFrame(this.#dexes, subscription, viewMs)
        if (text !== undefined) this.#push(session, topic, text)
      }
    }
  }

  #sendBlock(): void {
    this.#sendLate()
    const viewMs = this.#viewMs()
    if (this.#dexes.main.market.isOutage(viewMs)) this.dropConnections()
    const afterMs = this.#blockViewMs
    this.#blockViewMs = viewMs
    const byCoin = new Map<string, readonly Trade[]>()
    const tradesOf = (coin: string): readonly Trade[] => {
      const trades = byCoin.get(coin) ?? this.#dexes.marketOf(coin).trades(coin, afterMs, viewMs)
      byCoin.set(coin, trades)
      return trades
    }
    for (const topic of this.#topics.values()) {
      const { subscription } = topic
      if (this.#isStalled(topic)) continue
      switch (subscription.type) {
        case 'trades': {
          const trades = tradesOf(subscription.coin)
          if (trades.length > 0)
            this.#broadcast(topic, tradesFrame(this.#dexes, subscription.coin, trades))
          break
        }
        case 'candle':
          this.#sendCandles(topic, subscription, tradesOf(subscription.coin), viewMs)
          break
        case 'bbo':
          this.#sendBbo(topic, subscription.coin, viewMs)
          break
      }
    }
  }

  /** A block that spans the end of a bar sends both bars with trades. */
  #sendCandles(
    topic: Topic,
    subscription: Extract<Subscription, { type: 'candle' }>,
    trades: readonly Trade[],
    viewMs: number,
  ): void {
    const stepMs = candleIntervalMs[subscription.interval]
    const openTimeMs = Math.floor(viewMs / stepMs) * stepMs
    const [first] = trades
    const last = trades.at(-1)
    if (first === undefined || last === undefined) return
    if (first.timeMs < openTimeMs)
      this.#broadcast(topic, candleFrame(this.#dexes, subscription, openTimeMs - 1))
    if (last.timeMs >= openTimeMs)
      this.#broadcast(topic, candleFrame(this.#dexes, subscription, viewMs))
  }

  #sendBbo(topic: Topic, coin: string, viewMs: number): void {
    const prices = bestPrices(this.#dexes, coin, viewMs)
    if (prices === undefined || prices === topic.sentBbo) return
    topic.sentBbo = prices
    this.#broadcast(topic, bboFrame(prices, this.#stampMs(viewMs)))
  }

  /** Every coin on one clock, unchanged books too. */
  #sendBooks(isFast: boolean): void {
    const view = this.#view()
    for (const topic of this.#topics.values()) {
      const { subscription } = topic
      if (subscription.type !== 'l2Book' || subscription.fast !== isFast) continue
      if (!this.#isStalled(topic)) {
        this.#broadcast(topic, bookFrame(this.#dexes, subscription, view))
      }
    }
  }

  #sendType(type: 'activeAssetCtx' | 'allDexsAssetCtxs' | 'assetCtxs' | 'allMids'): void {
    const viewMs = this.#viewMs()
    for (const topic of this.#topics.values()) {
      if (topic.subscription.type !== type || this.#isStalled(topic)) continue
      this.#broadcast(topic, stateFrame(this.#dexes, topic.subscription, viewMs))
    }
  }

  #sendFastContexts(): void {
    const topic = this.#topics.get('{"type":"fastAssetCtxs"}')
    if (topic === undefined) return
    this.#broadcast(topic, this.#fastContexts.tick(this.#dexes, this.#viewMs()))
  }

  #dropSilent(): void {
    const sinceMs = this.nowMs() - this.limits.silenceMs
    for (const session of [...this.#sessions]) {
      // The end of a connection that is cut off would not reach the client either.
      if (session.silentSinceMs <= sinceMs && !session.isCutOff) session.drop()
    }
  }
}
