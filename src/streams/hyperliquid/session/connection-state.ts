import type { MarketChannel, VenueSubscription } from '../wire/subscription.ts'
import { marketChannels, subscriptionKey } from '../wire/subscription.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'

export const PING_PERIOD_MS = 20_000
const PONG_MS_MAX = 15_000
/** The venue's own limit, seen from the other side; also of the books of a socket. */
const SILENCE_MS_MAX = 60_000
/** They come every second and every 13.6 s, whatever the market does. */
const CHANNEL_SILENCE_MS_MAX: Readonly<Record<MarketChannel, number>> = {
  fastAssetCtxs: 15_000,
  allDexsAssetCtxs: 45_000,
}
/** A channel of all coins that stays silent may be no more: it is renewed more and more rarely. */
const RENEWAL_DOUBLINGS_MAX = 3
/** The venue acknowledges at once. A lost subscription is sent again after this, then twice this, ... */
const ACK_MS_MAX = 10_000
const ACK_DOUBLINGS_MAX = 5
/** The venue drops whoever subscribes a name that it does not know, 0.1 to 0.2 s later. */
const POISON_MS_MAX = 1_500

type Sent = {
  readonly subscription: VenueSubscription
  sentMs: number
  attempts: number
  isAcknowledged: boolean
}

/** How long a channel of all coins has been silent. */
type StaleCoin = { readonly sinceMs: number; readonly renewals: number }

type Change = { readonly method: 'subscribe' | 'unsubscribe'; readonly key: string }

/** What one socket has said and heard. It is born with the socket and dies with it. */
export class ConnectionState {
  readonly #plan: SubscriptionPlan
  readonly #socket: number
  /** By key. */
  readonly #sent = new Map<string, Sent>()
  #wanted: ReadonlyMap<string, VenueSubscription> = new Map()
  #unsent: readonly Change[] = []
  #rosterVersion = -1
  #lastFrameMs: number
  /** The last book, or the first acknowledgement of one. NaN before. */
  #lastBookMs = Number.NaN
  /** Of the channels of all coins that were acknowledged. */
  readonly #silences = new Map<MarketChannel, StaleCoin>()
  #pingedMs: number | null = null
  #isHeard = false
  #isGivenUp = false

  constructor(plan: SubscriptionPlan, socket: number, nowMs: number) {
    this.#plan = plan
    this.#socket = socket
    this.#lastFrameMs = nowMs
  }

  /** True once the venue has said anything. */
  get isHeard(): boolean {
    return this.#isHeard
  }

  heard(nowMs: number): void {
    this.#lastFrameMs = nowMs
    this.#isHeard = true
  }

  /** Something came that comes every few seconds. */
  heardOf(channel: MarketChannel | 'l2Book', nowMs: number): void {
    if (channel === 'l2Book') this.#lastBookMs = nowMs
    else this.#silences.set(channel, { sinceMs: nowMs, renewals: 0 })
  }

  /** Replaced at the next look, because a coin stays silent on it. */
  giveUp(): void {
    this.#isGivenUp = true
  }

  pinged(nowMs: number): void {
    this.#pingedMs ??= nowMs
  }

  ponged(): void {
    this.#pingedMs = null
  }

  acknowledged(channel: string, coin: string | null, nowMs: number): void {
    const sent = this.#sent.get(subscriptionKey(channel, coin))
    if (sent === undefined) return
    sent.isAcknowledged = true
    if (channel === 'l2Book' && Number.isNaN(this.#lastBookMs)) this.#lastBookMs = nowMs
    const ofAll = marketChannels.find((name) => name === channel)
    if (ofAll !== undefined && !this.#silences.has(ofAll))
      this.#silences.set(ofAll, { sinceMs: nowMs, renewals: 0 })
  }

  /** Why this socket is dead although nobody closed it; undefined while it is not. */
  fault(nowMs: number): 'feed_silent' | 'pong_missing' | 'coin_silent' | undefined {
    if (this.#isGivenUp) return 'coin_silent'
    if (nowMs - this.#lastFrameMs >= SILENCE_MS_MAX) return 'feed_silent'
    // It answers pings, and has forgotten what it was asked for.
    if (nowMs - this.#lastBookMs >= SILENCE_MS_MAX) {
      if (this.#hasBooks) return 'feed_silent'
      // Its coins are gone; the next one begins anew.
      this.#lastBookMs = Number.NaN
    }
    if (this.#pingedMs !== null && nowMs - this.#pingedMs >= PONG_MS_MAX) return 'pong_missing'
    return undefined
  }

  /** How many frames would bring the venue's subscriptions to what the plan wants. */
  get unsentCount(): number {
    if (this.#rosterVersion !== this.#plan.version) this.#compare()
    return this.#unsent.length
  }

  /** The first `count` of those frames, regarded as sent. */
  takeUnsent(count: number, nowMs: number): readonly string[] {
    const changes = this.#unsent.slice(0, count)
    this.#unsent = this.#unsent.slice(count)
    return changes.flatMap(({ method, key }) => {
      const subscription = this.#wanted.get(key) ?? this.#sent.get(key)?.subscription
      if (subscription === undefined) return []
      if (method === 'unsubscribe') this.#sent.delete(key)
      else this.#noteSent(key, subscription, nowMs)
      return [JSON.stringify({ method, subscription })]
    })
  }

  /** Ends and renews all subscriptions of one coin. */
  renew(coin: string): void {
    const keys = [...this.#sent]
      .filter(([, { subscription }]) => 'coin' in subscription && subscription.coin === coin)
      .map(([key]) => key)
    this.#queue([...keys.map(change('unsubscribe')), ...keys.map(change('subscribe'))])
  }

  /**
   * Ends and renews the channels of all coins that have fallen silent. The connection stays: its coins have
   * nothing to do with it.
   * @returns which
   */
  renewSilent(nowMs: number): readonly MarketChannel[] {
    const silent = marketChannels.filter((channel) => {
      const silence = this.#silences.get(channel)
      return silence && nowMs - silence.sinceMs >= patienceWith(channel, silence)
    })
    for (const channel of silent) {
      const renewals = (this.#silences.get(channel)?.renewals ?? 0) + 1
      this.#silences.set(channel, { sinceMs: nowMs, renewals })
      this.#queue([change('unsubscribe')(channel), change('subscribe')(channel)])
    }
    return silent
  }

  /** Subscribes again what the venue has left without an answer. @returns how many. */
  repeat(nowMs: number): number {
    const keys = [...this.#sent]
      .filter(([, sent]) => !sent.isAcknowledged && nowMs - sent.sentMs >= patienceMs(sent))
      .map(([key]) => key)
    return this.#queue(keys.map(change('subscribe')))
  }

  /** Coins whose subscription was just sent, and never answered: one of them may have ended this socket. */
  suspects(nowMs: number): readonly string[] {
    const coins = new Set<string>()
    for (const { subscription, sentMs, isAcknowledged } of this.#sent.values())
      if (!isAcknowledged && nowMs - sentMs <= POISON_MS_MAX && 'coin' in subscription)
        coins.add(subscription.coin)
    return [...coins]
  }

  get #hasBooks(): boolean {
    return [...this.#sent.values()].some(
      ({ subscription, isAcknowledged }) => isAcknowledged && subscription.type === 'l2Book',
    )
  }

  #noteSent(key: string, subscription: VenueSubscription, nowMs: number): void {
    const attempts = (this.#sent.get(key)?.attempts ?? 0) + 1
    this.#sent.set(key, { subscription, sentMs: nowMs, attempts, isAcknowledged: false })
  }

  #queue(changes: readonly Change[]): number {
    const queued = new Set(this.#unsent.map(({ method, key }) => `${method} ${key}`))
    const fresh = changes.filter(({ method, key }) => !queued.has(`${method} ${key}`))
    this.#unsent = [...this.#unsent, ...fresh]
    return fresh.length
  }

  #compare(): void {
    this.#rosterVersion = this.#plan.version
    const wanted = new Map(
      this.#plan
        .subscriptions(this.#socket)
        .map((one) => [subscriptionKey(one.type, 'coin' in one ? one.coin : null), one]),
    )
    this.#wanted = wanted
    this.#unsent = [
      ...[...this.#sent.keys()].filter((key) => !wanted.has(key)).map(change('unsubscribe')),
      ...[...wanted.keys()].filter((key) => !this.#sent.has(key)).map(change('subscribe')),
    ]
  }
}

function patienceWith(channel: MarketChannel, { renewals }: StaleCoin): number {
  return CHANNEL_SILENCE_MS_MAX[channel] * 2 ** Math.min(renewals, RENEWAL_DOUBLINGS_MAX)
}

function patienceMs({ attempts }: Sent): number {
  return ACK_MS_MAX * 2 ** Math.min(attempts - 1, ACK_DOUBLINGS_MAX)
}

function change(method: Change['method']): (key: string) => Change {
  return (key) => ({ method, key })
}
