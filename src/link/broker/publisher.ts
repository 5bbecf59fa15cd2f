import type { Clock } from '../../domain/clock.ts'
import type { DocumentKey } from '../../domain/document.ts'
import { subjectOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { Listing } from '../../domain/listing.ts'
import { tradableOf } from '../../domain/listing.ts'
import type { PackedDocument } from '../../domain/packed-document.ts'
import { packDocument } from '../../domain/packed-document.ts'
import { ownDocuments, PlacedDocument } from '../../domain/placed-document.ts'
import type { EngineReplica } from '../engine-replica.ts'
import type { EngineMessage, Heartbeat } from '../message.ts'
import type { Broker, Lease, PublishOutcome } from './broker.ts'
import { carriedFrom } from './carried-document.ts'
import type { CarriedMessage } from './frame.ts'
import { FrameEncoder } from './frame.ts'
import type { Leadership } from './leadership.ts'

/** Subject of the list of coins; no coin has this name. */
const UNIVERSE = '#universe'

/** An unchanged subject is confirmed, so that a broker or a gateway notices what it lost. */
const REFRESH_MS = 10_000
/** Bounds the memory of publications without a reply: 100 kB per coin. */
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

type Subject = {
  hasChanged: boolean
  isInFlight: boolean
  publishedAtMs: number
  /** The stored publication, which the next one can continue; null if it must replace everything. */
  base: Base | null
}

type Base = { readonly sequence: number; readonly documents: ReadonlyMap<DocumentKey, Stored> }

type Stored = Pick<PackedDocument, 'version' | 'end'>

type Held = PackedDocument | PlacedDocument

/** Numbers of publications since the start, by outcome. */
export type PublisherCounts = Readonly<Record<PublishOutcome | 'failed', number>>

/**
 * Publishes the engine's newest state while this process leads. Each subject has at most one publication in flight,
 * with the documents that have changed since the one before; a new leader publishes everything.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #encoder = new FrameEncoder()
  readonly #subjects = new Map<string, Subject>()
  readonly #counts = { published: 0, older: 0, incomplete: 0, fenced: 0, failed: 0 }
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
          if (subject !== UNIVERSE && this.#documentsOf(subject).length === 0)
            this.#subjects.delete(subject)
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
        base: null,
      })
    this.#publishIfDue(name)
  }

  #tick(): void {
    const { leadership, monotonicMs } = this.#options
    const { lease } = leadership
    if (lease === null) return
    if (lease.epoch !== this.#epoch) this.#begin(lease)
    if (monotonicMs() - this.#heartbeatAtMs >= HEARTBEAT_PERIOD_MS) void this.#beat(lease)
    this.#publishDue()
  }

  #publishDue(): void {
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
      subject.base = null
    }
    // First, so that a gateway drops the coins that this leader does not list.
    this.#publishIfDue(UNIVERSE)
  }

  #publishIfDue(name: string): void {
    const { leadership, monotonicMs } = this.#options
    const subject = this.#subjects.get(name)
    if (subject === undefined || subject.isInFlight || this.#inFlight >= IN_FLIGHT_MAX) return
    const nowMs = monotonicMs()
    if (!subject.hasChanged && nowMs < subject.publishedAtMs + REFRESH_MS) return
    if (nowMs < this.#pausedUntilMs) return
    const { lease } = leadership
    if (lease !== null && lease.epoch === this.#epoch) void this.#publish(name, subject, lease)
  }

  async #publish(name: string, subject: Subject, lease: Lease): Promise<void> {
    const { broker, leadership, monotonicMs } = this.#options
    const documents = this.#documentsOf(name)
    const message = this.#messageOf(name, documents, continued(subject.base, documents))
    if (message === null) return
    // Behind the others, so that subjects that change often do not keep them waiting. The list of coins stays in front.
    if (name !== UNIVERSE) {
      this.#subjects.delete(name)
      this.#subjects.set(name, subject)
    }
    this.#sequence += 1
    const sequence = this.#sequence
    const parts = this.#encoder.encode({ epoch: lease.epoch, sequence, message })
    const base = message.kind === 'subject' ? message.base : null
    const next = {
      sequence,
      documents: new Map(documents.map(({ key, version, end }) => [key, { version, end }])),
    }
    subject.base = null
    subject.hasChanged = false
    subject.publishedAtMs = monotonicMs()
    subject.isInFlight = true
    this.#inFlight += 1
    try {
      const outcome = await broker.publish(lease, { subject: name, sequence, base, parts })
      this.#counts[outcome] += 1
      if (outcome === 'fenced') leadership.lost(lease)
      // What is stored is another state, which the next publication replaces.
      if (outcome === 'older' || outcome === 'incomplete') subject.hasChanged = true
      if (outcome === 'published' && lease.epoch === this.#epoch) subject.base = next
      if (outcome === 'published' && name === UNIVERSE) await this.#retain(lease)
    } catch {
      this.#counts.failed += 1
      subject.hasChanged = true
      this.#pausedUntilMs = monotonicMs() + RETRY_MS
    } finally {
      const wasFull = this.#inFlight === IN_FLIGHT_MAX
      subject.isInFlight = false
      this.#inFlight -= 1
      if (wasFull) this.#publishDue()
      else this.#publishIfDue(name)
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
    const sequence = this.#sequence
    const { head } = this.#encoder.encode({ epoch: lease.epoch, sequence, message })
    try {
      if (!(await broker.send(lease, head))) leadership.lost(lease)
    } catch {
      this.#isHeartbeatNew = true
    } finally {
      this.#isHeartbeatInFlight = false
    }
  }

  #documentsOf(name: string): readonly Held[] {
    return this.#options.replica
      .documentsOf(name)
      .map((document) => (document instanceof PlacedDocument ? document : packDocument(document)))
  }

  /**
   * @param base what the broker has of the subject; null to replace it
   * @returns null for a subject of which nothing is known
   */
  #messageOf(name: string, documents: readonly Held[], base: Base | null): CarriedMessage | null {
    if (name === UNIVERSE) return this.#listings && { kind: 'universe', listings: this.#listings }
    if (documents.length === 0) return null
    const stored = base?.documents ?? new Map<DocumentKey, Stored>()
    const changed = documents.filter(({ key, version }) => stored.get(key)?.version !== version)
    const carried = ownDocuments(changed).map((document) =>
      carriedFrom(packDocument(document), stored.get(document.key)?.end),
    )
    return {
      ...{ kind: 'subject', subject: name, documents: carried },
      base: base?.sequence ?? null,
      total: documents.length + documents.filter(({ end }) => end !== undefined).length,
    }
  }
}

/** @returns null if a document or its end is gone, which a frame that continues another one cannot remove */
function continued(base: Base | null, documents: readonly Held[]): Base | null {
  if (base === null) return null
  const current = new Map(documents.map((document) => [document.key, document]))
  const isKept = [...base.documents].every(([key, { end }]) => {
    const document = current.get(key)
    return document !== undefined && (end === undefined || document.end !== undefined)
  })
  return isKept ? base : null
}
