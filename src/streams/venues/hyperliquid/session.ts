import type { Roster, Subscription } from './roster.ts'

export const PING_PERIOD_MS = 20_000
const PONG_MS_MAX = 15_000
/** The venue's own limit, seen from the other side. */
const SILENCE_MS_MAX = 60_000

export const PING = JSON.stringify({ method: 'ping' })

type Change = { readonly method: 'subscribe' | 'unsubscribe'; readonly subscription: string }

/** What one socket has said and heard. It is born with the socket and dies with it. */
export class Session {
  readonly #roster: Roster
  readonly #socket: number
  /** Subscriptions that were sent, as JSON. */
  readonly #held = new Set<string>()
  #unsent: readonly Change[] = []
  #rosterVersion = -1
  #lastFrameMs: number
  #pingedMs: number | null = null
  #isUp = false

  constructor(roster: Roster, socket: number, nowMs: number) {
    this.#roster = roster
    this.#socket = socket
    this.#lastFrameMs = nowMs
  }

  /** @returns true for the first frame: the venue answers. */
  heard(nowMs: number): boolean {
    this.#lastFrameMs = nowMs
    const isFirst = !this.#isUp
    this.#isUp = true
    return isFirst
  }

  pinged(nowMs: number): void {
    this.#pingedMs ??= nowMs
  }

  ponged(): void {
    this.#pingedMs = null
  }

  /** Why this socket is dead although nobody closed it; undefined while it is not. */
  fault(nowMs: number): 'feed_silent' | 'pong_missing' | undefined {
    if (nowMs - this.#lastFrameMs >= SILENCE_MS_MAX) return 'feed_silent'
    if (this.#pingedMs !== null && nowMs - this.#pingedMs >= PONG_MS_MAX) return 'pong_missing'
    return undefined
  }

  /** How many frames would bring the venue's subscriptions to what the roster wants. */
  get unsentCount(): number {
    if (this.#rosterVersion !== this.#roster.version) this.#compare()
    return this.#unsent.length
  }

  /** The first `count` of those frames, regarded as sent. */
  takeUnsent(count: number): readonly string[] {
    const changes = this.#unsent.slice(0, count)
    this.#unsent = this.#unsent.slice(count)
    return changes.map(({ method, subscription }) => {
      if (method === 'subscribe') this.#held.add(subscription)
      else this.#held.delete(subscription)
      return `{"method":"${method}","subscription":${subscription}}`
    })
  }

  #compare(): void {
    this.#rosterVersion = this.#roster.version
    const wanted = new Set(this.#roster.subscriptions(this.#socket).map(toJson))
    this.#unsent = [
      ...[...this.#held].filter((held) => !wanted.has(held)).map(change('unsubscribe')),
      ...[...wanted].filter((one) => !this.#held.has(one)).map(change('subscribe')),
    ]
  }
}

function toJson(subscription: Subscription): string {
  return JSON.stringify(subscription)
}

function change(method: Change['method']): (subscription: string) => Change {
  return (subscription) => ({ method, subscription })
}
