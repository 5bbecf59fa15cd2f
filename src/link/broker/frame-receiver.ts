import type { DocumentKey } from '../../domain/document.ts'
import { WHOLE_MARKET } from '../../domain/document.ts'
import { tradableOf } from '../../domain/listing.ts'
import type { EngineReplica } from '../engine-replica.ts'
import type { FramePosition } from './broker.ts'
import { isNewer } from './broker.ts'
import { completedDocument } from './carried-document.ts'
import type { CarriedMessage, FrameSource, SubjectChange } from './frame.ts'
import { decodeFrame } from './frame.ts'
import type { MirroredDocument } from './mirrored-document.ts'

/** A new leader publishes every subject within this time, also the unchanged ones. */
const HANDOVER_MS = 15_000

/**
 * `heartbeat`: of the newest leader. `former-leader`: a heartbeat of a smaller epoch. `older`: changed nothing. `refused`:
 * damaged or of another format. `incomplete`: changed nothing, because an earlier frame of the subject is missing.
 */
export type Receipt =
  | 'heartbeat'
  | 'former-leader'
  | 'applied'
  | 'older'
  | 'refused'
  | { readonly kind: 'incomplete'; readonly subject: string }

type Documents = ReadonlyMap<DocumentKey, MirroredDocument>

/** All documents are of the same epoch; `later` has the renderings of former leaders that readers get instead. */
type HeldSubject = FramePosition & { readonly documents: Documents; readonly later: Documents }
type HeldUniverse = FramePosition & { readonly coins: ReadonlySet<string> }

const NOTHING: FramePosition = { epoch: 0, sequence: 0 }

/**
 * Applies frames to a replica in any order of arrival. Of each subject the newest position wins, and a frame that continues
 * another one follows that one only.
 */
export class FrameReceiver {
  readonly #replica: EngineReplica
  readonly #nowMs: () => number
  readonly #monotonicMs: () => number
  readonly #subjects = new Map<string, HeldSubject>()
  #universe: HeldUniverse | null = null
  #heartbeat = NOTHING
  /** Of the newest leader that sent any frame. */
  #epoch = 0
  #handoverUntilMs = Number.NEGATIVE_INFINITY

  constructor(replica: EngineReplica, nowMs: () => number, monotonicMs: () => number) {
    this.#replica = replica
    this.#nowMs = nowMs
    this.#monotonicMs = monotonicMs
  }

  /** Of the newest leader; 0 before the first frame. */
  get epoch(): number {
    return this.#epoch
  }

  /**
   * Accepts frames of any epoch again. Documents stay, so that for the time of a handover no older rendering replaces them.
   */
  restart(): void {
    this.#epoch = 0
    this.#heartbeat = NOTHING
    if (this.#universe !== null) this.#universe = { ...this.#universe, ...NOTHING }
    for (const [subject, held] of this.#subjects)
      this.#subjects.set(subject, { ...held, ...NOTHING })
  }

  /** @param bytes may change after the call */
  receive(bytes: Uint8Array, source: FrameSource): Receipt {
    const frame = decodeFrame(bytes, source)
    if (frame === null) return 'refused'
    if (frame.epoch > this.#epoch) {
      this.#epoch = frame.epoch
      this.#handoverUntilMs = this.#monotonicMs() + HANDOVER_MS
    }
    const { message } = frame
    if (message === null || message.kind === 'heartbeat') return this.#beat(frame, message)
    if (message.kind === 'universe') return this.#list(frame, message)
    return this.#change(frame, message)
  }

  #beat(
    { epoch, sequence }: FramePosition,
    message: (CarriedMessage & { kind: 'heartbeat' }) | null,
  ): Receipt {
    const position = { epoch, sequence }
    if (epoch < this.#epoch) return 'former-leader'
    if (!isNewer(position, this.#heartbeat)) return 'older'
    this.#heartbeat = position
    if (message !== null) this.#replica.apply(message, this.#nowMs())
    return 'heartbeat'
  }

  #list(
    { epoch, sequence }: FramePosition,
    message: CarriedMessage & { kind: 'universe' },
  ): Receipt {
    const position = { epoch, sequence }
    if (!isNewer(position, this.#universe ?? NOTHING)) return 'older'
    const coins = new Set(tradableOf(message.listings))
    this.#universe = { ...position, coins }
    for (const subject of this.#subjects.keys())
      if (subject !== WHOLE_MARKET && !coins.has(subject)) this.#subjects.delete(subject)
    this.#replica.apply(message, this.#nowMs())
    return 'applied'
  }

  #change(
    { epoch, sequence }: FramePosition,
    { subject, base, documents: changed }: SubjectChange,
  ): Receipt {
    const position = { epoch, sequence }
    const held = this.#subjects.get(subject)
    if (!isNewer(position, held ?? NOTHING) || this.#isDelisted(subject, position)) return 'older'
    const isNext = held?.epoch === epoch && held.sequence === base
    if (base !== null && !isNext) return { kind: 'incomplete', subject }
    const documents = new Map(base === null ? [] : held?.documents)
    // Engines on two machines can use the same version.
    const known = held?.epoch === epoch ? held.documents : undefined
    for (const carried of changed) {
      const before = known?.get(carried.key)
      const document =
        before?.version === carried.version ? before : completedDocument(carried, before)
      if (document === null) return 'refused'
      documents.set(document.key, document)
    }
    const later = held === undefined ? new Map() : this.#laterThan(documents, held)
    this.#subjects.set(subject, { ...position, documents, later })
    const shown = Array.from(documents.values(), (document) => later.get(document.key) ?? document)
    this.#replica.apply({ kind: 'subject', subject, documents: shown }, this.#nowMs())
    return 'applied'
  }

  /**
   * A standby may have rendered a document before the last rendering of the leader that it replaces. For a bounded time,
   * because the clocks of two machines differ, readers get the later rendering.
   */
  #laterThan(documents: Documents, held: HeldSubject): Documents {
    const later = new Map<DocumentKey, MirroredDocument>()
    if (this.#monotonicMs() >= this.#handoverUntilMs) return later
    for (const { key, renderedAtMs } of documents.values()) {
      const before = held.later.get(key) ?? held.documents.get(key)
      if (before !== undefined && before.renderedAtMs > renderedAtMs) later.set(key, before)
    }
    return later
  }

  /** A frame that was delayed until after the delisting of its coin. */
  #isDelisted(subject: string, position: FramePosition): boolean {
    const universe = this.#universe
    if (universe === null || subject === WHOLE_MARKET || universe.coins.has(subject)) return false
    return isNewer(universe, position)
  }
}
