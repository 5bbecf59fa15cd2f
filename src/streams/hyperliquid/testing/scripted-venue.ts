import { deflateRawSync } from 'node:zlib'
import type { SchedulerAction, Subscriber } from 'rxjs'
import { interval, map, NEVER, Observable, timer, VirtualTimeScheduler } from 'rxjs'
import { expect } from 'vitest'
import { OperatingError } from '../../../domain/errors.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import type { HttpReply, Runtime } from '../../runtime.ts'

export const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const LATENCY_MS = 20
const BOOK_PERIOD_MS = 5_400
const NO_MARKS = deflateRawSync('{}').toString('base64')

class ScriptedSocket {
  readonly heard: { readonly atMs: number; readonly text: string }[] = []
  readonly held = new Map<string, { readonly type: string; readonly coin?: string }>()
  openedMs = 0
  isClosed = false
  readonly #subscriber: Subscriber<string>

  constructor(subscriber: Subscriber<string>) {
    this.#subscriber = subscriber
  }

  send(message: unknown): void {
    this.#subscriber.next(JSON.stringify(message))
  }

  drop(): void {
    this.#subscriber.error(new OperatingError('socket_closed', 'closed with 1006'))
  }
}

/** A venue in virtual time that behaves like the real one, or fails as the test specifies. */
export class ScriptedVenue {
  readonly sockets: ScriptedSocket[] = []
  readonly connectionsMs: number[] = []
  readonly requests: { readonly atMs: number; readonly body: unknown }[] = []
  /** Weight of the requests: the fixed part at the request, the part of the rows at the reply. */
  readonly charges: { readonly atMs: number; readonly weight: number }[] = []
  readonly acknowledgedMs = new Map<string, number>()
  /** `-NAME` is delisted. */
  coins: readonly string[]
  tradesSent = 0
  isMute = false
  isRefusing = false
  isHanging = false
  isPonging = true
  /** Whether a periodic channel sends: books, marks and contexts. */
  isTelling: (type: string, coin?: string) => boolean = () => true
  /** Offset of the timestamps of books. */
  clockOffMs = 0
  /** Coins that the metadata lists and the WebSocket server does not know. */
  readonly poison = new Set<string>()
  isLosing: (subscription: { type: string; coin?: string }) => boolean = () => false
  replyAfterMs = 50
  reply: (body: unknown) => HttpReply | undefined = () => undefined
  acknowledgeAfterMs: (coin: string) => number = () => LATENCY_MS
  dayNotional: (coin: string) => number = (coin) => 1e9 - this.coins.indexOf(coin)
  readonly #scheduler = new VirtualTimeScheduler()
  readonly #trades = new Map<string, object[]>()
  #seed: number
  #tradeId = 745_210_434_703_000

  constructor({ coins, seed = 1 }: { readonly coins: readonly string[]; readonly seed?: number }) {
    this.coins = coins
    this.#seed = seed
    this.#scheduler.frame = START_MS
    interval(BOOK_PERIOD_MS, this.#scheduler).subscribe(() => this.#tell())
  }

  /** A linear congruential generator: enough to scatter delays. */
  readonly random = (): number => {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0
    return this.#seed / 2 ** 32
  }

  readonly runtime: Runtime = {
    scheduler: this.#scheduler,
    random: this.random,
    connect: (_, outbound) =>
      new Observable<string>((subscriber) => {
        this.connectionsMs.push(this.nowMs)
        if (this.isRefusing) {
          subscriber.error(new OperatingError('socket_failed', 'refused'))
          return
        }
        const socket = new ScriptedSocket(subscriber)
        this.sockets.push(socket)
        if (!this.isHanging) {
          socket.openedMs = this.nowMs
          subscriber.add(outbound.subscribe((text) => this.#hear(socket, text)))
        }
        return () => {
          socket.isClosed = true
        }
      }),
    post: (_, body) => {
      this.requests.push({ atMs: this.nowMs, body })
      this.charges.push({ atMs: this.nowMs, weight: 20 })
      if (this.isMute) return NEVER
      return timer(this.replyAfterMs, this.#scheduler).pipe(
        map(() => this.reply(body) ?? { status: 200, body: JSON.stringify(this.#answer(body)) }),
      )
    },
  }

  advance(byMs: number): void {
    const untilMs = this.nowMs + byMs
    this.#scheduler.maxFrames = untilMs
    this.#scheduler.flush()
    this.#scheduler.frame = untilMs
  }

  send(message: unknown): void {
    this.#alive()[0]?.send(message)
  }

  sendContexts(): void {
    const [first] = this.#alive()
    if (first !== undefined) this.#sendContexts(first)
  }

  trade(coin: string): void {
    const trades = this.#tradesOf(coin)
    trades.push(this.#newTrade(coin))
    for (const socket of this.#alive()) {
      const types = [...socket.held.values()].flatMap((one) =>
        one.coin === coin ? [one.type] : [],
      )
      if (types.includes('trades')) this.#sendTrades(socket, trades.slice(-1))
      if (types.includes('candle')) socket.send({ channel: 'candle', data: this.#candle(coin) })
    }
  }

  book(coin: string): void {
    for (const socket of this.#alive())
      if ([...socket.held.values()].some((one) => one.type === 'l2Book' && one.coin === coin))
        this.#sendBook(socket, coin)
  }

  context(coin: string): object {
    const prices = { markPx: '100', oraclePx: '100', prevDayPx: '99' }
    const day = { dayNtlVlm: String(this.dayNotional(coin)), dayBaseVlm: '1' }
    const other = { funding: '0.0000125', openInterest: '10' }
    const book = coin.startsWith('-')
      ? { midPx: null, premium: null, impactPxs: null }
      : { midPx: '100', premium: '0', impactPxs: ['99', '101'] }
    return { ...prices, ...day, ...other, ...book }
  }

  /** Coins with a subscription of this type on a live socket. */
  subscribed(type: string): readonly (string | undefined)[] {
    return this.#alive()
      .flatMap(({ held }) => [...held.values()])
      .flatMap((one) => (one.type === type ? [one.coin] : []))
  }

  get candleRequests(): ScriptedVenue['requests'] {
    return this.requests.filter(({ body }) => JSON.stringify(body).includes('candleSnapshot'))
  }

  get nowMs(): number {
    return this.#scheduler.now()
  }

  #tell(): void {
    for (const socket of this.#alive())
      for (const { type, coin } of socket.held.values()) {
        if (!this.isTelling(type, coin)) continue
        if (type === 'l2Book' && coin !== undefined) this.#sendBook(socket, coin)
        if (type === 'allDexsAssetCtxs') this.#sendContexts(socket)
        if (type === 'fastAssetCtxs') socket.send({ channel: type, data: NO_MARKS })
      }
  }

  #sendContexts(socket: ScriptedSocket): void {
    socket.send({ channel: 'allDexsAssetCtxs', data: { ctxs: [['', this.#contexts()]] } })
  }

  #sendBook(socket: ScriptedSocket, coin: string): void {
    const side = (px: string) => [{ px, sz: '1', n: 1 }]
    const time = this.nowMs + this.clockOffMs - 300
    const data = { coin, time, levels: [side('99'), side('101')] }
    socket.send({ channel: 'l2Book', data })
  }

  #alive(): readonly ScriptedSocket[] {
    return this.sockets.filter(({ isClosed }) => !isClosed)
  }

  #later(delayMs: number, task: () => void): void {
    this.#scheduler.schedule(function (this: SchedulerAction<unknown>) {
      task()
    }, delayMs)
  }

  #hear(socket: ScriptedSocket, text: string): void {
    socket.heard.push({ atMs: this.nowMs, text })
    const { method, subscription } = JSON.parse(text)
    if (method === 'ping') {
      if (this.isPonging) this.#later(LATENCY_MS, () => socket.send({ channel: 'pong' }))
      return
    }
    const key = JSON.stringify(subscription)
    if (method === 'unsubscribe') {
      expect(socket.held.delete(key), `${key} was held`).toBe(true)
      return
    }
    const { type, coin } = subscription
    if (socket.held.has(key)) {
      socket.send({ channel: 'error', data: `Already subscribed: ${key}` })
      if (type === 'candle') this.#noteAcknowledged(coin)
      return
    }
    if (coin !== undefined && this.poison.has(coin)) {
      this.#later(100, () => socket.drop())
      return
    }
    if (coin !== undefined && !this.coins.includes(coin)) {
      socket.drop()
      return
    }
    if (this.isLosing(subscription)) return
    socket.held.set(key, subscription)
    this.#later(coin === undefined ? LATENCY_MS : this.acknowledgeAfterMs(coin), () => {
      socket.send({ channel: 'subscriptionResponse', data: { method, subscription } })
      if (type === 'candle') this.#noteAcknowledged(coin)
      if (type === 'l2Book' && coin === this.coins.find((name) => !name.startsWith('-')))
        this.book(coin)
      if (type === 'trades') this.#sendTrades(socket, this.#tradesOf(coin).slice(-30))
    })
  }

  #noteAcknowledged(coin: string): void {
    if (!this.acknowledgedMs.has(coin)) this.acknowledgedMs.set(coin, this.nowMs)
  }

  #tradesOf(coin: string): object[] {
    let trades = this.#trades.get(coin)
    if (trades === undefined) {
      trades = Array.from({ length: 30 }, () => this.#newTrade(coin))
      this.#trades.set(coin, trades)
    }
    return trades
  }

  #candle(coin: string): object {
    const stepMs = timeframeMs['15m']
    const t = Math.floor(this.nowMs / stepMs) * stepMs
    const [o, h, l, c] = ['100', '101', '99', '100.5']
    return { t, T: t + stepMs - 1, s: coin, i: '15m', o, h, l, c, v: '5', n: 1 }
  }

  #newTrade(coin: string): object {
    this.#tradeId += 1
    return { coin, side: 'B', px: '100.5', sz: '0.1', time: this.nowMs, tid: this.#tradeId }
  }

  #sendTrades(socket: ScriptedSocket, trades: readonly object[]): void {
    this.tradesSent += trades.length
    socket.send({ channel: 'trades', data: trades })
  }

  #answer(body: unknown): unknown {
    const { type, req } = JSON.parse(JSON.stringify(body))
    if (type === 'meta') return this.#meta()
    if (type === 'metaAndAssetCtxs') return [this.#meta(), this.#contexts()]
    if (type === 'predictedFundings') return this.#predictions()
    if (type === 'perpDexs') return [null]
    if (type === 'spotMetaAndAssetCtxs') return [{ tokens: [], universe: [] }, []]
    if (type === 'fundingHistory') return this.#fundings(JSON.parse(JSON.stringify(body)))
    const stepMs = timeframeMs[req.interval as keyof typeof timeframeMs]
    const rows: object[] = []
    const firstMs = Math.ceil(req.startTime / stepMs) * stepMs
    for (let t = firstMs; t < req.endTime && rows.length < 5_000; t += stepMs) {
      const [o, h, l, c] = ['100', '101', '99', '100.5']
      rows.push({ t, T: t + stepMs - 1, s: req.coin, i: req.interval, o, h, l, c, v: '5', n: 1 })
    }
    this.charges.push({ atMs: this.nowMs, weight: Math.floor(rows.length / 60) })
    return rows
  }

  #predictions(): object {
    const nextFundingTime = Math.floor(this.nowMs / HOUR_MS) * HOUR_MS
    return this.coins.map((coin) => [
      coin,
      [['HlPerp', { fundingRate: '0.0000125', nextFundingTime, fundingIntervalHours: 1 }]],
    ])
  }

  #fundings({ coin, startTime }: { readonly coin: string; readonly startTime: number }): object {
    const rows: object[] = []
    const firstMs = Math.ceil(startTime / HOUR_MS) * HOUR_MS
    for (let time = firstMs; time < this.nowMs && rows.length < 500; time += HOUR_MS)
      rows.push({ coin, fundingRate: '0.0000125', premium: '0.0001', time: time + 50 })
    this.charges.push({ atMs: this.nowMs, weight: Math.floor(rows.length / 20) })
    return rows
  }

  #meta(): object {
    const universe = this.coins.map((name) => {
      const listing = { szDecimals: 2, maxLeverage: 10, marginTableId: 10 }
      return name.startsWith('-')
        ? { name: name.slice(1), ...listing, isDelisted: true }
        : { name, ...listing }
    })
    return { universe, marginTables: [], collateralToken: 0 }
  }

  #contexts(): readonly object[] {
    return this.coins.map((coin) => this.context(coin))
  }
}
