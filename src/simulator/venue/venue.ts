import type { Clock } from '../../domain/clock.ts'
import type { Instrument, Market, NewListing, Trade } from '../market/market.ts'
import { drift, noiseKey, uniform } from '../market/noise.ts'
import { AddressUse } from './allowance.ts'
import { FastContexts } from './fast-contexts.ts'
import { answerInfo, BOOK_LEVELS, bookData, infoWeight } from './info.ts'
import type { VenueCadences, VenueLimits } from './limits.ts'
import type { Peer, SessionHost } from './session.ts'
import { Session } from './session.ts'
import type { Subscription } from './subscription.ts'
import { isRecord } from './subscription.ts'
import { candleWire, contextsWire, contextWire, levelWire, midsWire, tradeWire } from './wire.ts'

const FAST_BOOK_LEVELS = 5
const REPLAYED_TRADES = 30
/** A book's first frame comes this long after the acknowledgement. */
const FIRST_BOOK_MS_MIN = 100
const FIRST_BOOK_MS_SPAN = 200
const DROP_AFTER_MS = 100
const SILENCE_CHECK_MS = 1000
/** What the venue tells is this old: it wanders between the two over seconds. */
const AGE_MS_MIN = 200
const AGE_MS_MAX = 900
const AGE_WANDER_MS = 5000
const ADDRESSES_MAX = 256

const MALFORMED = 'Failed to deserialize the JSON body into the target type'

const venueKey = noiseKey(0, 'venue')

type Topic = {
  readonly subscription: Subscription
  readonly sessions: Set<Session>
  /** Best prices as sent last: repeated ones are not sent. */
  sentBbo: string | undefined
}

export type HttpAnswer = {
  readonly status: number
  readonly body: string
  readonly isJson: boolean
}

/** The venue's protocol without its sockets: sessions and requests in, frames and replies out. */
export class Venue implements SessionHost {
  readonly limits: VenueLimits
  readonly #market: Market
  readonly #clock: Clock
  readonly #cadences: VenueCadences
  readonly #topics = new Map<string, Topic>()
  readonly #sessions = new Set<Session>()
  readonly #addresses = new Map<string, AddressUse>()
  readonly #fastContexts = new FastContexts()
  readonly #stops = new Set<() => void>()
  /** Trades up to here have been sent. */
  #blockViewMs: number
  #subscribedCount = 0

  constructor(options: {
    readonly market: Market
    readonly clock: Clock
    readonly limits: VenueLimits
    readonly cadences: VenueCadences
  }) {
    this.#market = options.market
    this.#clock = options.clock
    this.limits = options.limits
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
    ]) {
      this.#stops.add(stop)
    }
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  isListed(coin: string): boolean {
    return this.#market.instrument(coin) !== undefined
  }

  /** @returns undefined when the address may not connect now, or the recording is in its outage. */
  connect(address: string, peer: Peer): Session | undefined {
    const use = this.#use(address)
    if (this.#market.isOutage(this.#viewMs())) return undefined
    if (use.connections >= this.limits.connectionsMax) return undefined
    if (!use.newConnections.take(1, this.nowMs())) return undefined
    const session = new Session(peer, use, this)
    this.#sessions.add(session)
    return session
  }

  /** Answers the body of one `POST /info`. */
  info(address: string, text: string): HttpAnswer {
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return plain(400, 'Failed to parse the request body as JSON')
    }
    const answer = this.#answer(this.#use(address), body)
    if (answer === undefined) return plain(429, 'Too Many Requests')
    switch (answer.kind) {
      case 'data':
        return { status: 200, body: JSON.stringify(answer.data), isJson: true }
      case 'unknown':
        return { status: 500, body: 'null', isJson: true }
      case 'malformed':
        return plain(422, MALFORMED)
    }
  }

  subscribed(session: Session, key: string, subscription: Subscription): void {
    const topic = this.#topics.get(key) ?? { subscription, sessions: new Set(), sentBbo: undefined }
    this.#topics.set(key, topic)
    topic.sessions.add(session)
    if (subscription.type !== 'l2Book') {
      this.#sendFirst(session, topic)
      return
    }
    const delayMs =
      FIRST_BOOK_MS_MIN + FIRST_BOOK_MS_SPAN * uniform(venueKey, this.#subscribedCount++)
    this.#later(delayMs, () => {
      if (topic.sessions.has(session)) session.send(this.#bookFrame(subscription, this.#viewMs()))
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
      const response = this.#postResponse(session.use, request)
      session.send(JSON.stringify({ channel: 'post', data: { id, response } }))
    })
  }

  dropSoon(session: Session): void {
    this.#later(DROP_AFTER_MS, () => session.drop())
  }

  closed(session: Session): void {
    this.#sessions.delete(session)
    for (const key of session.keys) this.unsubscribed(session, key)
  }

  dropConnections(): void {
    for (const session of [...this.#sessions]) session.drop()
  }

  addListing(listing: NewListing): void {
    this.#market.addListing(listing, this.nowMs())
  }

  delist(coin: string): void {
    this.#market.delist(coin, this.nowMs())
  }

  close(): void {
    for (const stop of this.#stops) stop()
    this.dropConnections()
  }

  /** Once, unless the venue closes before. */
  #later(delayMs: number, task: () => void): void {
    const stop = this.#clock.after(delayMs, () => {
      this.#stops.delete(stop)
      task()
    })
    this.#stops.add(stop)
  }

  /** The instant up to which the venue tells: a little behind the clock, and never going back. */
  #viewMs(): number {
    const nowMs = this.#clock.nowMs()
    const share = (1 + drift(venueKey, nowMs / AGE_WANDER_MS)) / 2
    return Math.floor(nowMs - AGE_MS_MIN - (AGE_MS_MAX - AGE_MS_MIN) * share)
  }

  #use(address: string): AddressUse {
    const known = this.#addresses.get(address)
    if (known !== undefined) return known
    const idle = [...this.#addresses].find(([, { connections }]) => connections === 0)
    if (this.#addresses.size >= ADDRESSES_MAX && idle !== undefined) {
      this.#addresses.delete(idle[0])
    }
    const use = new AddressUse(this.limits, this.nowMs())
    this.#addresses.set(address, use)
    return use
  }

  /** @returns undefined when the address has used up its weight. */
  #answer(use: AddressUse, body: unknown): ReturnType<typeof answerInfo> | undefined {
    if (!use.restWeight.take(infoWeight(body), this.nowMs())) return undefined
    const answer = answerInfo(this.#market, body, this.#viewMs())
    if (answer.kind === 'data') use.restWeight.charge(answer.rowWeight)
    return answer
  }

  #postResponse(use: AddressUse, request: unknown): object {
    const { type, payload } = isRecord(request) ? request : {}
    if (type !== 'info' || !isRecord(payload)) return { type: 'error', payload: MALFORMED }
    const answer = this.#answer(use, payload)
    if (answer === undefined) return { type: 'error', payload: '429 Too Many Requests' }
    if (answer.kind === 'malformed') return { type: 'error', payload: MALFORMED }
    const { type: infoType } = payload
    const data = answer.kind === 'data' ? answer.data : null
    return { type: 'info', payload: { type: infoType, data } }
  }

  /** What a channel says right after its acknowledgement, where it says anything. */
  #sendFirst(session: Session, topic: Topic): void {
    const { subscription } = topic
    const viewMs = this.#viewMs()
    switch (subscription.type) {
      case 'trades': {
        const { coin } = subscription
        // As of the last block: the next one goes on from there, without a hole or a repeat.
        const trades = this.#market.lastTrades(coin, this.#blockViewMs, REPLAYED_TRADES)
        if (trades.length > 0) session.send(this.#tradesFrame(coin, trades))
        return
      }
      case 'bbo': {
        topic.sentBbo ??= this.#bboFrame(subscription.coin, this.#blockViewMs)?.text
        if (topic.sentBbo !== undefined) session.send(this.#bboAt(topic.sentBbo, viewMs))
        return
      }
      case 'fastAssetCtxs':
        if (topic.sessions.size === 1) this.#fastContexts.tick(this.#market, viewMs)
        session.send(this.#fastContexts.snapshot())
        return
      case 'l2Book':
      case 'candle':
        return
      default: {
        const text = this.#stateFrame(subscription, viewMs)
        if (text !== undefined) session.send(text)
      }
    }
  }

  #sendBlock(): void {
    const viewMs = this.#viewMs()
    if (this.#market.isOutage(viewMs)) this.dropConnections()
    const afterMs = this.#blockViewMs
    this.#blockViewMs = viewMs
    const byCoin = new Map<string, readonly Trade[]>()
    const tradesOf = (coin: string): readonly Trade[] => {
      const trades = byCoin.get(coin) ?? this.#market.trades(coin, afterMs, viewMs)
      byCoin.set(coin, trades)
      return trades
    }
    for (const topic of this.#topics.values()) {
      const { subscription } = topic
      switch (subscription.type) {
        case 'trades': {
          const trades = tradesOf(subscription.coin)
          if (trades.length > 0) broadcast(topic, this.#tradesFrame(subscription.coin, trades))
          break
        }
        case 'candle':
          if (tradesOf(subscription.coin).length > 0) {
            broadcast(topic, this.#candleFrame(subscription, viewMs))
          }
          break
        case 'bbo':
          this.#sendBbo(topic, subscription.coin, viewMs)
          break
      }
    }
  }

  #sendBbo(topic: Topic, coin: string, viewMs: number): void {
    const frame = this.#bboFrame(coin, viewMs)
    if (frame === undefined || frame.text === topic.sentBbo) return
    topic.sentBbo = frame.text
    broadcast(topic, this.#bboAt(frame.text, viewMs))
  }

  /** Every coin on one clock, unchanged books too. */
  #sendBooks(isFast: boolean): void {
    const viewMs = this.#viewMs()
    for (const topic of this.#topics.values()) {
      const { subscription } = topic
      if (subscription.type === 'l2Book' && subscription.fast === isFast) {
        broadcast(topic, this.#bookFrame(subscription, viewMs))
      }
    }
  }

  #sendType(type: 'activeAssetCtx' | 'allDexsAssetCtxs' | 'assetCtxs' | 'allMids'): void {
    const viewMs = this.#viewMs()
    for (const topic of this.#topics.values()) {
      if (topic.subscription.type !== type) continue
      const text = this.#stateFrame(topic.subscription, viewMs)
      if (text !== undefined) broadcast(topic, text)
    }
  }

  #sendFastContexts(): void {
    const topic = this.#topics.get('{"type":"fastAssetCtxs"}')
    if (topic === undefined) return
    const text = this.#fastContexts.tick(this.#market, this.#viewMs())
    if (text !== undefined) broadcast(topic, text)
  }

  #dropSilent(): void {
    const sinceMs = this.nowMs() - this.limits.silenceMs
    for (const session of [...this.#sessions]) if (session.silentSinceMs <= sinceMs) session.drop()
  }

  #stateFrame(subscription: Subscription, viewMs: number): string | undefined {
    switch (subscription.type) {
      case 'activeAssetCtx': {
        const { coin } = subscription
        const context = this.#market.context(coin, viewMs)
        if (context === undefined) return undefined
        const ctx = contextWire(context, this.#listed(coin))
        return frame('activeAssetCtx', { coin, ctx })
      }
      case 'allDexsAssetCtxs':
        return frame('allDexsAssetCtxs', { ctxs: [['', contextsWire(this.#market, viewMs)]] })
      case 'assetCtxs':
        return frame('assetCtxs', { dex: '', ctxs: contextsWire(this.#market, viewMs) })
      case 'allMids': {
        const { dex } = subscription
        const mids = midsWire(this.#market, viewMs)
        return frame('allMids', dex === undefined ? { mids } : { mids, dex })
      }
      default:
        return undefined
    }
  }

  #tradesFrame(coin: string, trades: readonly Trade[]): string {
    const instrument = this.#listed(coin)
    return frame(
      'trades',
      trades.map((trade) => tradeWire(trade, instrument)),
    )
  }

  #candleFrame(
    { coin, interval }: Extract<Subscription, { type: 'candle' }>,
    viewMs: number,
  ): string | undefined {
    const candle = this.#market.openCandle(coin, interval, viewMs)
    if (candle === undefined) return undefined
    return frame('candle', candleWire(candle, this.#listed(coin), interval))
  }

  #bookFrame(subscription: Extract<Subscription, { type: 'l2Book' }>, viewMs: number): string {
    const { fast } = subscription
    const levels = fast ? FAST_BOOK_LEVELS : BOOK_LEVELS
    const book = bookData(this.#market, subscription, levels, viewMs)
    return frame('l2Book', fast ? { ...book, fast: true } : book)
  }

  /** Best prices without their time, which alone is no change; undefined for an empty book. */
  #bboFrame(coin: string, viewMs: number): { readonly text: string } | undefined {
    const { sizeDecimals } = this.#listed(coin)
    const { bids, asks } = this.#market.book(coin, viewMs, 1)
    const bid = bids[0]
    const ask = asks[0]
    if (bid === undefined && ask === undefined) return undefined
    const bbo = [bid, ask].map((level) =>
      level === undefined ? null : levelWire(level, sizeDecimals),
    )
    return { text: `"coin":${JSON.stringify(coin)},"bbo":${JSON.stringify(bbo)}` }
  }

  #bboAt(text: string, viewMs: number): string {
    return `{"channel":"bbo","data":{"time":${viewMs},${text}}}`
  }

  #listed(coin: string): Instrument {
    const instrument = this.#market.instrument(coin)
    if (instrument === undefined) throw new Error(`${coin} was subscribed but is not listed`)
    return instrument
  }
}

function broadcast(topic: Topic, text: string | undefined): void {
  if (text !== undefined) for (const session of [...topic.sessions]) session.send(text)
}

function frame(channel: string, data: unknown): string {
  return JSON.stringify({ channel, data })
}

function plain(status: number, body: string): HttpAnswer {
  return { status, body, isJson: false }
}
