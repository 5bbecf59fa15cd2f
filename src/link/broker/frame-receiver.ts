import type { Document, DocumentKey } from '../../domain/document.ts'
import { subjectOf, WHOLE_MARKET } from '../../domain/document.ts'
import { tradableOf } from '../../domain/listing.ts'
import type { EngineReplica } from '../engine-replica.ts'
import type { SubjectMessage } from '../message.ts'
import type { FramePosition } from './broker.ts'
import { isNewer } from './broker.ts'
import type { CarriedMessage, CarrierFrame } from './frame.ts'
import { decodeFrame } from './frame.ts'

/** A new leader publishes every subject within this time, also the unchanged ones. */
const HANDOVER_MS = 15_000

/** `heartbeat`: of the newest leader. `older`: changed nothing. `refused`: damaged or of another format. */
export type Receipt = 'heartbeat' | 'applied' | 'older' | 'refused'

/** `epoch`: of the leader that rendered it. */
type Held = { readonly epoch: number; readonly document: Document }
type HeldSubject = FramePosition & { readonly documents: ReadonlyMap<DocumentKey, Held> }
type HeldUniverse = FramePosition & { readonly coins: ReadonlySet<string> }

const NOTHING: FramePosition = { epoch: 0, sequence: 0 }

/** Applies frames to a replica in any order of arrival: of each subject the newest position wins. */
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

  /** @param bytes may change after the call */
  receive(bytes: Uint8Array): Receipt {
    const frame = decodeFrame(bytes, (key, version, { epoch }) => {
      const held = this.#subjects.get(subjectOf(key))?.documents.get(key)
      // Engines on two machines can use the same version.
      return held?.epoch === epoch && held.document.version === version ? held.document : undefined
    })
    if (frame === null) return 'refused'
    if (frame.epoch > this.#epoch) {
      this.#epoch = frame.epoch
      this.#handoverUntilMs = this.#monotonicMs() + HANDOVER_MS
    }
    const { message } = frame
    if (message === null || message.kind === 'heartbeat') return this.#beat(frame)
    if (message.kind === 'universe') return this.#list(frame, message)
    return this.#replace(frame, message)
  }

  #beat({ message, ...position }: CarrierFrame): Receipt {
    if (position.epoch < this.#epoch || !isNewer(position, this.#heartbeat)) return 'older'
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

  #replace({ epoch, sequence }: FramePosition, { subject, documents }: SubjectMessage): Receipt {
    const position = { epoch, sequence }
    const held = this.#subjects.get(subject)
    if (!isNewer(position, held ?? NOTHING) || this.#isDelisted(subject, position)) return 'older'
    const kept = new Map<DocumentKey, Held>()
    for (const document of documents) {
      const before = held?.documents.get(document.key)
      const isKept = before !== undefined && this.#isKept(before.document, document)
      kept.set(document.key, isKept ? before : { epoch, document })
    }
    this.#subjects.set(subject, { ...position, documents: kept })
    const newest = [...kept.values()].map(({ document }) => document)
    this.#replica.apply({ kind: 'subject', subject, documents: newest }, this.#nowMs())
    return 'applied'
  }

  /**
   * A standby may have rendered a document before the last rendering of the leader that it replaces. For a bounded time,
   * because the clocks of two machines differ, the later rendering stays.
   */
  #isKept(before: Document, document: Document): boolean {
    return (
      before.renderedAtMs > document.renderedAtMs && this.#monotonicMs() < this.#handoverUntilMs
    )
  }

  /** A frame that was delayed until after the delisting of its coin. */
  #isDelisted(subject: string, position: FramePosition): boolean {
    const universe = this.#universe
    if (universe === null || subject === WHOLE_MARKET || universe.coins.has(subject)) return false
    return isNewer(universe, position)
  }
}
