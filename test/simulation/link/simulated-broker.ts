import type { Clock } from '../../../src/domain/clock.ts'
import type {
  Broker,
  BrokerSubscription,
  FramePosition,
  Lease,
  Publication,
  PublishOutcome,
  Subscriber,
} from '../../../src/link/broker/broker.ts'
import { joined } from '../../../src/link/broker/broker.ts'
import type { BrokerState } from './broker-state.ts'

/** Time limits of `RedisBroker`. */
const REPLY_MS_MAX = 2_000
const IDLE_MS_MAX = 3_000
const RECONNECT_MS_MAX = 1_000
/** A server closes the connection of a subscriber that is further behind. */
const BEHIND_MS_MAX = 5_000

/** The path between one host and the server. */
export type Path = {
  /** Delay of a request, milliseconds; null if it is lost. Requests may overtake each other. */
  requestMs(): number | null
  /** Delay of a reply or of a frame to a subscriber, milliseconds; null if it is lost. */
  replyMs(): number | null
  /** Whether the next frame to a subscriber is lost, and the subscription is not. */
  isFrameLost(): boolean
  /** Whether the subscription is lost without a sign to the client. */
  isUnsubscribed(): boolean
  /** Random number from 0 to 1. */
  chance(): number
  /** Runs a task on the host, when it is not frozen. */
  deliver(task: () => void): void
}

type Connection = { readonly path: Path; readonly subscriber: Subscriber; lastAtMs: number }

/** Called for every effect on the state. */
export type BrokerTap = {
  /** @param before position of the frame that was replaced */
  readonly onPublished: (
    lease: Lease,
    frame: Publication,
    before: FramePosition | undefined,
  ) => void
  readonly onSent: (lease: Lease) => void
}

/** A server with its connections, in the time of a clock. */
export class SimulatedServer {
  readonly state: BrokerState
  readonly clock: Clock
  readonly #tap: BrokerTap
  readonly #connections = new Map<Connection, (isAtOnce: boolean) => void>()
  isUp = true

  constructor(state: BrokerState, clock: Clock, tap: BrokerTap) {
    this.state = state
    this.clock = clock
    this.#tap = tap
  }

  /** Closes every connection. */
  kill(): void {
    this.isUp = false
    for (const [connection, onLost] of this.#connections) {
      this.#connections.delete(connection)
      onLost(true)
    }
  }

  publish(lease: Lease, frame: Publication): PublishOutcome {
    const before = this.state.stored(frame.subject)
    const outcome = this.state.publish(lease, frame, this.clock.nowMs())
    if (outcome !== 'published') return outcome
    this.#tap.onPublished(lease, frame, before)
    this.#broadcast(joined(frame.parts))
    return outcome
  }

  send(lease: Lease, frame: Uint8Array): boolean {
    if (!this.state.isHeld(lease, this.clock.nowMs())) return false
    this.#tap.onSent(lease)
    this.#broadcast(frame)
    return true
  }

  /** @param onLost called when the client notices that the connection is lost, at once or by its idle limit */
  open(path: Path, subscriber: Subscriber, onLost: (isAtOnce: boolean) => void): () => void {
    const connection = { path, subscriber, lastAtMs: this.clock.nowMs() }
    this.#connections.set(connection, onLost)
    return () => this.#connections.delete(connection)
  }

  #broadcast(frame: Uint8Array): void {
    const nowMs = this.clock.nowMs()
    for (const [connection, onLost] of this.#connections) {
      if (connection.path.isUnsubscribed()) {
        this.#connections.delete(connection)
        continue
      }
      const delayMs = connection.path.replyMs()
      if (delayMs === null || connection.lastAtMs > nowMs + BEHIND_MS_MAX) {
        this.#connections.delete(connection)
        onLost(delayMs !== null)
        continue
      }
      if (connection.path.isFrameLost()) continue
      // One connection keeps the order.
      connection.lastAtMs = Math.max(connection.lastAtMs, nowMs + delayMs)
      this.clock.after(connection.lastAtMs - nowMs, () => {
        if (this.#connections.has(connection))
          connection.path.deliver(() => connection.subscriber.onFrame(frame))
      })
    }
  }
}

/** The client of one host. */
export class SimulatedBroker implements Broker {
  readonly #server: SimulatedServer
  readonly #path: Path

  constructor(server: SimulatedServer, path: Path) {
    this.#server = server
    this.#path = path
  }

  acquire(engineId: string, ttlMs: number): Promise<Lease | null> {
    return this.#request(({ state }, nowMs) => state.acquire(engineId, ttlMs, nowMs))
  }

  renew(lease: Lease, ttlMs: number): Promise<boolean> {
    return this.#request(({ state }, nowMs) => state.renew(lease, ttlMs, nowMs))
  }

  release(lease: Lease): Promise<void> {
    return this.#request(({ state }, nowMs) => state.release(lease, nowMs))
  }

  publish(lease: Lease, frame: Publication): Promise<PublishOutcome> {
    return this.#request((server) => server.publish(lease, frame))
  }

  send(lease: Lease, frame: Uint8Array): Promise<boolean> {
    return this.#request((server) => server.send(lease, frame))
  }

  retain(lease: Lease, subjects: readonly string[]): Promise<boolean> {
    return this.#request(({ state }, nowMs) => state.retain(lease, subjects, nowMs))
  }

  async snapshot(onFrame: (frame: Uint8Array) => void, subjects?: Iterable<string>): Promise<void> {
    for (const frame of await this.#request(({ state }) => state.frames(subjects))) onFrame(frame)
  }

  subscribe(subscriber: Subscriber): BrokerSubscription {
    const { clock } = this.#server
    let isClosed = false
    let close: () => void = () => {}
    const retry = (afterMs: number) => void clock.after(afterMs, connect)
    const connect = () => {
      if (isClosed) return
      const delayMs = this.#path.requestMs()
      const replyMs = this.#path.replyMs()
      if (delayMs === null || replyMs === null) return retry(REPLY_MS_MAX)
      clock.after(delayMs, () => {
        if (isClosed) return
        if (!this.#server.isUp) return retry(this.#path.chance() * RECONNECT_MS_MAX)
        close = this.#server.open(this.#path, subscriber, (isAtOnce) =>
          retry(isAtOnce ? this.#path.chance() * RECONNECT_MS_MAX : IDLE_MS_MAX),
        )
        clock.after(replyMs, () =>
          this.#path.deliver(() => {
            if (!isClosed) subscriber.onActive()
          }),
        )
      })
    }
    connect()
    return {
      close: () => {
        isClosed = true
        close()
      },
    }
  }

  #request<Reply>(execute: (server: SimulatedServer, nowMs: number) => Reply): Promise<Reply> {
    const { clock } = this.#server
    return new Promise((resolve, reject) => {
      const cancel = clock.after(REPLY_MS_MAX, () =>
        this.#path.deliver(() => reject(new Error('no reply in time'))),
      )
      const requestMs = this.#path.requestMs()
      if (requestMs === null) return
      clock.after(requestMs, () => {
        if (!this.#server.isUp) {
          cancel()
          this.#path.deliver(() => reject(new Error('the server is away')))
          return
        }
        const reply = execute(this.#server, clock.nowMs())
        const replyMs = this.#path.replyMs()
        if (replyMs === null) return
        clock.after(replyMs, () => {
          cancel()
          this.#path.deliver(() => resolve(reply))
        })
      })
    })
  }
}
