import type { MarketChannel, VenueSubscription } from '../wire/subscription.ts'
import { marketChannels, subscriptionKey } from '../wire/subscription.ts'
import type { SubscriptionPlan } from './subscription-plan.ts'

export const PING_PERIOD_MS = 20_000
const PONG_MS_MAX = 15_000
/** The venue closes a connection after 60 s without a frame; the limit also holds for books. */
const SILENCE_MS_MAX = 60_000
/** Their cadences are 1 s and 13.6 s, independent of the market. */
const CHANNEL_SILENCE_MS_MAX: Readonly<Record<MarketChannel, number>> = {
  fastAssetCtxs: 15_000,
  allDexsAssetCtxs: 45_000,
}
/** A channel that stays silent is renewed at doubling intervals: the venue may have removed it. */
const RENEWAL_DOUBLINGS_MAX = 3
/** The venue acknowledges immediately. A subscription is repeated after this time, doubled each time. */
const ACK_MS_MAX = 10_000
const ACK_DOUBLINGS_MAX = 5
/** The venue closes a connection 0.1 to 0.2 s after the subscription of an unknown name. */
const UNKNOWN_NAME_MS_MAX = 1_500

type Sent = {
  readonly subscription: VenueSubscription
  sentMs: number
  attempts: number
  isAcknowledged: boolean
}

/** How long a channel of all coins is silent. */
type ChannelSilence = { readonly sinceMs: number; readonly renewals: number }

type Change = { readonly method: 'subscribe' | 'unsubscribe'; readonly key: string }

/** Subscriptions and heartbeats of one connection. */
export class ConnectionState {
  readonly #plan: SubscriptionPlan
  readonly #socket: number
  /** By key. */
  readonly #sent = new Map<string, Sent>()
  #wanted: ReadonlyMap<string, VenueSubscription> = new Map()
  #unsent: readonly Change[] = []
  #rosterVersion = -1
  #lastFrameMs: number
  /** The last book, or the acknowledgement of the first; NaN before. */
  #lastBookMs = Number.NaN
  /** Of acknowledged channels. */
  readonly #silences = new Map<MarketChannel, ChannelSilence>()
  #pingedMs: number | null = null
  #isReceived = false
  #isGivenUp = false

  constructor(plan: SubscriptionPlan, socket: number, nowMs: number) {
    this.#plan = plan
    this.#socket = socket
    this.#lastFrameMs = nowMs
  }

  /** Whether the venue sent a frame. */
  get isReceived(): boolean {
    return this.#isReceived
  }

  received(nowMs: number): void {
    this.#lastFrameMs = nowMs
    this.#isReceived = true
  }

  /** A frame of a channel with a cadence arrived. */
  receivedOf(channel: MarketChannel | 'l2Book', nowMs: number): void {
    if (channel === 'l2Book') this.#lastBookMs = nowMs
    else this.#silences.set(channel, { sinceMs: nowMs, renewals: 0 })
  }

  /** The connection will be replaced, because a coin stays stale on it. */
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

  /** Why an open connection is dead; undefined while it is not. */
  fault(nowMs: number): 'feed_silent' | 'pong_missing' | 'coin_silent' | undefined {
    if (this.#isGivenUp) return 'coin_silent'
    if (nowMs - this.#lastFrameMs >= SILENCE_MS_MAX) return 'feed_silent'
    // It answers pings and sends no books.
    if (nowMs - this.#lastBookMs >= SILENCE_MS_MAX) {
      if (this.#hasBooks) return 'feed_silent'
      // It has no coins any more.
      this.#lastBookMs = Number.NaN
    }
    if (this.#pingedMs !== null && nowMs - this.#pingedMs >= PONG_MS_MAX) return 'pong_missing'
    return undefined
  }

  /** The number of frames until the subscriptions match the plan. */
  get unsentCount(): number {
    if (this.#rosterVersion !== this.#plan.version) this.#compare()
    return this.#unsent.length
  }

  /** The first `count` of those frames, which count as sent. */
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
      .filter(([, { subscription }]) => subscription.coin === coin)
      .map(([key]) => key)
    this.#queue([...keys.map(change('unsubscribe')), ...keys.map(change('subscribe'))])
  }

  /** Renews silent channels of all coins, without replacing the connection. @returns the renewed channels */
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

  /** Repeats unacknowledged subscriptions. @returns their number */
  repeat(nowMs: number): number {
    const keys = [...this.#sent]
      .filter(([, sent]) => !sent.isAcknowledged && nowMs - sent.sentMs >= patienceMs(sent))
      .map(([key]) => key)
    return this.#queue(keys.map(change('subscribe')))
  }

  /** Coins with a recent unacknowledged subscription: one of them may be the reason for the close. */
  suspects(nowMs: number): readonly string[] {
    const coins = new Set<string>()
    for (const { subscription, sentMs, isAcknowledged } of this.#sent.values()) {
      const isRecent = !isAcknowledged && nowMs - sentMs <= UNKNOWN_NAME_MS_MAX
      if (isRecent && subscription.coin !== undefined) coins.add(subscription.coin)
    }
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
        .map((one) => [subscriptionKey(one.type, one.coin ?? null), one]),
    )
    this.#wanted = wanted
    this.#unsent = [
      ...[...this.#sent.keys()].filter((key) => !wanted.has(key)).map(change('unsubscribe')),
      ...[...wanted.keys()].filter((key) => !this.#sent.has(key)).map(change('subscribe')),
    ]
  }
}

function patienceWith(channel: MarketChannel, { renewals }: ChannelSilence): number {
  return CHANNEL_SILENCE_MS_MAX[channel] * 2 ** Math.min(renewals, RENEWAL_DOUBLINGS_MAX)
}

function patienceMs({ attempts }: Sent): number {
  return ACK_MS_MAX * 2 ** Math.min(attempts - 1, ACK_DOUBLINGS_MAX)
}

function change(method: Change['method']): (key: string) => Change {
  return (key) => ({ method, key })
}
