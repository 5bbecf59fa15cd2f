import type { Clock } from '../../domain/clock.ts'
import { subjectOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { Listing } from '../../domain/listing.ts'
import { tradableOf } from '../../domain/listing.ts'
import type { EngineReplica } from '../engine-replica.ts'
import type { EngineMessage, Heartbeat } from '../message.ts'
import type { Broker, Lease } from './broker.ts'
import type { CarriedMessage } from './frame.ts'
import { FrameEncoder } from './frame.ts'
import type { Leadership } from './leadership.ts'

/** Subject of the list of coins; no coin has this name. */
const UNIVERSE = '#universe'

/** A subject is published four times a second at most; changes in between are combined. */
const INTERVAL_MS_MIN = 250
/** An unchanged subject is published again, which repairs what a broker or a gateway lost. */
const REFRESH_MS = 10_000
/** Bounds the memory of publications without a reply: 39 kB per coin. */
const IN_FLIGHT_MAX = 32
/** Pause after a failed publication. */
const RETRY_MS = 250
const TICK_MS = 50
const HEARTBEAT_PERIOD_MS = 1_000

export type PublisherOptions = {
  /** The engine's documents in this process, which this publisher updates. */
  readonly replica: EngineReplica
  readonly broker: Pick<Broker, 'publish' | 'send' | 'retain'>
  readonly leadership: Pick<Leadership, 'lease' | 'lost'>
  readonly clock: Pick<Clock, 'every'>
  /** Time that nothing sets, milliseconds. */
  readonly monotonicMs: () => number
}

type Subject = { hasChanged: boolean; isInFlight: boolean; publishedAtMs: number }

/** Numbers of publications since the start, by outcome. */
export type PublisherCounts = Readonly<Record<'published' | 'older' | 'fenced' | 'failed', number>>

/**
 * Publishes the engine's newest state while this process leads. Each subject has at most one publication in flight,
 * which carries the state of that moment; a new leader publishes everything.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #encoder = new FrameEncoder()
  readonly #subjects = new Map<string, Subject>()
  readonly #counts = { published: 0, older: 0, fenced: 0, failed: 0 }
  #listings: readonly Listing[] | null = null
  #heartbeat: Heartbeat | null = null
  #isHeartbeatNew = false
  #isHeartbeatInFlight = false
  #heartbeatAtMs = Number.NEGATIVE_INFINITY
  #inFlight = 0
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  #epoch = 0
  #sequence = 0
  #cancelTick = () => {}

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTick = this.#options.clock.every(TICK_MS, () => this.#tick())
  }

  stop(): void {
    this.#cancelTick()
  }

  counts(): PublisherCounts {
    return { ...this.#counts }
  }

  /** Takes the place of the replica in an `EngineSupervisor`. */
  apply(message: EngineMessage, nowMs: number): void {
    this.#options.replica.apply(message, nowMs)
    switch (message.kind) {
      case 'documents':
        // Once per subject, because the first call already publishes all of them.
        for (const subject of new Set(message.documents.map(({ key }) => subjectOf(key))))
          this.#change(subject)
        break
      case 'subject':
        this.#change(message.subject)
        break
      case 'universe':
        this.#listings = message.listings
        this.#change(UNIVERSE)
        for (const subject of this.#subjects.keys())
          if (this.#messageOf(subject) === null) this.#subjects.delete(subject)
        break
      case 'heartbeat':
        this.#heartbeat = message.heartbeat
        this.#isHeartbeatNew = true
        break
      default:
        message satisfies never
    }
  }

  disconnected(): void {
    this.#options.replica.disconnected()
  }

  forget(): void {
    this.#options.replica.forget()
  }

  #change(name: string): void {
    const subject = this.#subjects.get(name)
    if (subject !== undefined) subject.hasChanged = true
    else
      this.#subjects.set(name, {
        hasChanged: true,
        isInFlight: false,
        publishedAtMs: Number.NEGATIVE_INFINITY,
      })
    this.#publishIfDue(name)
  }

  #tick(): void {
    const { leadership, monotonicMs } = this.#options
    const { lease } = leadership
    if (lease === null) return
    if (lease.epoch !== this.#epoch) this.#begin(lease)
    if (monotonicMs() - this.#heartbeatAtMs >= HEARTBEAT_PERIOD_MS) void this.#beat(lease)
    for (const name of this.#subjects.keys()) this.#publishIfDue(name)
  }

  /** Everything of the new epoch replaces everything of earlier ones. */
  #begin(lease: Lease): void {
    this.#epoch = lease.epoch
    this.#sequence = 0
    this.#heartbeatAtMs = Number.NEGATIVE_INFINITY
    this.#isHeartbeatNew = this.#heartbeat !== null
    for (const subject of this.#subjects.values()) {
      subject.hasChanged = true
      subject.publishedAtMs = Number.NEGATIVE_INFINITY
    }
    // First, so that a gateway drops the coins that this leader does not list.
    this.#publishIfDue(UNIVERSE)
  }

  #publishIfDue(name: string): void {
    const { leadership, monotonicMs } = this.#options
    const subject = this.#subjects.get(name)
    if (subject === undefined || subject.isInFlight || this.#inFlight >= IN_FLIGHT_MAX) return
    const nowMs = monotonicMs()
    const dueAtMs = subject.publishedAtMs + (subject.hasChanged ? INTERVAL_MS_MIN : REFRESH_MS)
    if (nowMs < dueAtMs || nowMs < this.#pausedUntilMs) return
    const { lease } = leadership
    if (lease !== null && lease.epoch === this.#epoch) void this.#publish(name, subject, lease)
  }

  async #publish(name: string, subject: Subject, lease: Lease): Promise<void> {
    const { broker, leadership, monotonicMs } = this.#options
    const message = this.#messageOf(name)
    if (message === null) return
    this.#sequence += 1
    const sequence = this.#sequence
    const bytes = this.#encoder.encode({ epoch: lease.epoch, sequence, message })
    subject.hasChanged = false
    subject.publishedAtMs = monotonicMs()
    subject.isInFlight = true
    this.#inFlight += 1
    try {
      const outcome = await broker.publish(lease, { subject: name, sequence, bytes })
      this.#counts[outcome] += 1
      if (outcome === 'fenced') leadership.lost(lease)
      // A newer position is stored, so the state must be published with a later one.
      if (outcome === 'older') subject.hasChanged = true
      if (outcome === 'published' && name === UNIVERSE) await this.#retain(lease)
    } catch {
      this.#counts.failed += 1
      subject.hasChanged = true
      this.#pausedUntilMs = monotonicMs() + RETRY_MS
    } finally {
      subject.isInFlight = false
      this.#inFlight -= 1
    }
  }

  async #retain(lease: Lease): Promise<void> {
    const coins = tradableOf(this.#listings ?? [])
    await this.#options.broker.retain(lease, [UNIVERSE, WHOLE_MARKET, ...coins])
  }

  /** Proves that this leader lives, with the news of its engine. */
  async #beat(lease: Lease): Promise<void> {
    if (this.#isHeartbeatInFlight) return
    const { broker, leadership, monotonicMs } = this.#options
    this.#heartbeatAtMs = monotonicMs()
    this.#sequence += 1
    const heartbeat = this.#isHeartbeatNew ? this.#heartbeat : null
    const message: CarriedMessage | null = heartbeat && { kind: 'heartbeat', heartbeat }
    this.#isHeartbeatNew = false
    this.#isHeartbeatInFlight = true
    const frame = this.#encoder.encode({ epoch: lease.epoch, sequence: this.#sequence, message })
    try {
      if (!(await broker.send(lease, frame))) leadership.lost(lease)
    } catch {
      this.#isHeartbeatNew = true
    } finally {
      this.#isHeartbeatInFlight = false
    }
  }

  /** null for a subject of which nothing is known. */
  #messageOf(name: string): CarriedMessage | null {
    if (name === UNIVERSE) return this.#listings && { kind: 'universe', listings: this.#listings }
    const documents = this.#options.replica.documentsOf(name)
    return documents.length === 0 ? null : { kind: 'subject', subject: name, documents }
  }
}
