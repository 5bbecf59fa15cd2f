import { isRecord, parsedJson } from '../../domain/json.ts'
import type { AddressUse } from './allowance.ts'
import type { CloseCode } from './fault.ts'
import { LateFrames } from './late-frames.ts'
import type { VenueLimits } from './limits.ts'
import type { ParsedSubscription, Subscription } from './subscription.ts'
import { parseSubscription } from './subscription.ts'

/** The far end of one connection. */
export interface Peer {
  send(text: string): void
  /** Nothing is read from now on, so that nothing answers below the frames either: no pong, no close. */
  pause?(): void
  /** Ends the connection: 1000 with a closing handshake, 1006 without one. */
  drop(code: CloseCode): void
  /** Bytes that the client has not taken yet. */
  queuedBytes(): number
}

/** What a session asks of its venue. */
export interface SessionHost {
  readonly limits: VenueLimits
  /** What becomes of new subscriptions; they are granted where undefined. */
  readonly subscriptionRefusal: 'silent' | 'error' | undefined
  nowMs(): number
  /** How much later than sent a frame arrives there. */
  frameDelayMs(session: Session): number
  /** False for a coin that this channel does not have. */
  isKnown(subscription: Subscription): boolean
  isDex(name: string): boolean
  subscribed(session: Session, key: string, subscription: Subscription): void
  unsubscribed(session: Session, key: string): void
  posted(session: Session, id: number, request: unknown): void
  /** Drops the session a moment later, as the venue does. */
  dropSoon(session: Session): void
  closed(session: Session): void
}

/** A client that lets more than this pile up is dropped. */
const QUEUED_BYTES_MAX = 32 * 1024 * 1024

/** One websocket connection: the client's frames in, acknowledgements and errors out. */
export class Session {
  readonly use: AddressUse
  readonly #peer: Peer
  readonly #host: SessionHost
  /** By the normalised text. */
  readonly #subscriptions = new Map<string, Subscription>()
  readonly #late = new LateFrames()
  #isOpen = true
  /** Faults that let nothing pass in either direction. */
  #cutOffs = 0
  #sentAtMs: number

  constructor(peer: Peer, use: AddressUse, host: SessionHost) {
    this.use = use
    this.#peer = peer
    this.#host = host
    this.#sentAtMs = host.nowMs()
    use.connections++
  }

  get keys(): Iterable<string> {
    return this.#subscriptions.keys()
  }

  get silentSinceMs(): number {
    return this.#sentAtMs
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isCutOff(): boolean {
    return this.#cutOffs > 0
  }

  /** From now on nothing passes in either direction, and the client does not learn of it … */
  cutOff(): void {
    this.#cutOffs++
    this.#peer.pause?.()
  }

  /** … until the last of the faults that cut it off is over: then the connection is reset. */
  endCutOff(): void {
    this.#cutOffs--
    if (this.#cutOffs === 0) this.drop()
  }

  send(text: string): void {
    if (!this.#isOpen) return
    if (this.#peer.queuedBytes() + this.#late.bytes > QUEUED_BYTES_MAX) {
      this.drop()
      return
    }
    const nowMs = this.#host.nowMs()
    this.#sentAtMs = nowMs
    if (this.isCutOff) return
    if (this.#host.frameDelayMs(this) > 0) this.#late.add(text, nowMs)
    else this.#peer.send(text)
  }

  /** Hands over the late frames whose time has come. */
  sendLate(): void {
    if (this.#late.isEmpty) return
    const sentAtMs = this.#host.nowMs() - this.#host.frameDelayMs(this)
    for (const text of this.#late.through(sentAtMs)) {
      if (this.#isOpen && !this.isCutOff) this.#peer.send(text)
    }
  }

  drop(code: CloseCode = 1006): void {
    if (!this.#isOpen) return
    this.close()
    // No handshake passes where nothing does.
    this.#peer.drop(this.isCutOff ? 1006 : code)
  }

  /** The connection is gone: gives back what it had in use. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.use.connections--
    for (const subscription of this.#subscriptions.values()) this.#giveBack(subscription)
    this.#host.closed(this)
    this.#subscriptions.clear()
  }

  receive(text: string): void {
    if (!this.#isOpen || this.isCutOff) return
    const error = this.#handled(text)
    if (error !== undefined) this.send(JSON.stringify({ channel: 'error', data: error }))
  }

  /** @returns the venue's error text, if the frame deserves one. */
  #handled(text: string): string | undefined {
    if (!this.use.messages.take(1, this.#host.nowMs())) {
      const { messagesPerMinute } = this.#host.limits
      return `Cannot send more than ${messagesPerMinute} messages per minute.`
    }
    const frame = parsedJson(text)
    if (!isRecord(frame)) return unparsable(text)
    const { method, subscription } = frame
    switch (method) {
      case 'ping':
        this.send('{"channel":"pong"}')
        return undefined
      case 'subscribe':
        return this.#subscribe(subscription, text)
      case 'unsubscribe':
        return this.#unsubscribe(subscription, text)
      case 'post':
        return this.#post(frame, text)
      default:
        return unparsable(text)
    }
  }

  #subscribe(value: unknown, text: string): string | undefined {
    const parsed = parseSubscription(value)
    if (parsed.kind === 'unparsable') return unparsable(text)
    if (parsed.kind === 'invalid' || !this.#isDexKnown(parsed)) {
      return `Invalid subscription ${JSON.stringify(value)}`
    }
    if (parsed.kind === 'fatal' || !this.#host.isKnown(parsed.subscription)) {
      this.#host.dropSoon(this)
      return undefined
    }
    const { subscription } = parsed
    const key = JSON.stringify(subscription)
    if (this.#subscriptions.has(key)) return `Already subscribed: ${JSON.stringify(value)}`
    const refusal = this.#host.subscriptionRefusal
    if (refusal === 'silent') return undefined
    if (refusal === 'error') return `Invalid subscription ${JSON.stringify(value)}`
    const { subscriptionsMax, usersMax } = this.#host.limits
    if (this.use.subscriptions >= subscriptionsMax) {
      return `Cannot subscribe to more than ${subscriptionsMax} channels.`
    }
    if ('user' in subscription && !this.use.trackUser(subscription.user, usersMax)) {
      return `Cannot track more than ${usersMax} total users.`
    }
    this.#subscriptions.set(key, subscription)
    this.use.subscriptions++
    this.#acknowledge('subscribe', key)
    this.#host.subscribed(this, key, subscription)
    return undefined
  }

  #isDexKnown(parsed: ParsedSubscription): boolean {
    if (parsed.kind !== 'valid' || !('dex' in parsed.subscription)) return true
    return this.#host.isDex(parsed.subscription.dex ?? '')
  }

  #unsubscribe(value: unknown, text: string): string | undefined {
    const parsed = parseSubscription(value)
    if (parsed.kind === 'unparsable') return unparsable(text)
    const key = parsed.kind === 'valid' ? JSON.stringify(parsed.subscription) : ''
    const held = this.#subscriptions.get(key)
    if (held === undefined) return `Already unsubscribed: ${JSON.stringify(value)}`
    this.#subscriptions.delete(key)
    this.#giveBack(held)
    this.#host.unsubscribed(this, key)
    this.#acknowledge('unsubscribe', key)
    return undefined
  }

  #post(frame: Readonly<Record<string, unknown>>, text: string): string | undefined {
    const { id, request } = frame
    if (typeof id !== 'number' || !Number.isInteger(id)) return unparsable(text)
    if (this.use.pendingPosts >= this.#host.limits.pendingPostsMax) {
      return `too many pending post requests id=${id}`
    }
    this.#host.posted(this, id, request)
    return undefined
  }

  #giveBack(subscription: Subscription): void {
    this.use.subscriptions--
    if ('user' in subscription) this.use.untrackUser(subscription.user)
  }

  #acknowledge(method: 'subscribe' | 'unsubscribe', subscription: string): void {
    const data = `{"method":"${method}","subscription":${subscription}}`
    this.send(`{"channel":"subscriptionResponse","data":${data}}`)
  }
}

function unparsable(text: string): string {
  return `Error parsing JSON into valid websocket request: ${text}`
}
