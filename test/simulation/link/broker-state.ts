import type {
  FrameParts,
  FramePosition,
  Lease,
  Publication,
  PublishOutcome,
} from '../../../src/link/broker/broker.ts'
import { isNewer, joined } from '../../../src/link/broker/broker.ts'

/** A known bug of such a protocol, planted to prove that the checkers find it. */
export type BrokerDefect =
  /** The epoch is a counter, which begins again when the data are lost. */
  | 'epoch-by-increment'
  /** A publication is fenced by the lease only, so a delayed one replaces a newer one. */
  | 'no-position-check'
  /** A publication of changed documents is stored alone, so that a later gateway lacks the others. */
  | 'changes-replace-all'

type Stored = FramePosition & FrameParts

/** What the scripts of `RedisBroker` do, in one process. `nowMs` is the time of the server. */
export class BrokerState {
  readonly #defect: BrokerDefect | undefined
  #lease: { readonly token: string; expiresAtMs: number } | null = null
  #epoch = 0
  #frames = new Map<string, Stored>()

  constructor(defect?: BrokerDefect) {
    this.#defect = defect
  }

  loseData(): void {
    this.#lease = null
    this.#epoch = 0
    this.#frames = new Map()
  }

  /** As a server without memory does. */
  evict(subject: string): void {
    this.#frames.delete(subject)
  }

  stored(subject: string): FramePosition | undefined {
    return this.#frames.get(subject)
  }

  acquire(engineId: string, ttlMs: number, nowMs: number): Lease | null {
    if (this.#lease !== null && this.#lease.expiresAtMs > nowMs) return null
    const next = this.#epoch + 1
    this.#epoch = this.#defect === 'epoch-by-increment' ? next : Math.max(next, nowMs)
    const lease = { epoch: this.#epoch, token: `${this.#epoch}:${engineId}` }
    this.#lease = { token: lease.token, expiresAtMs: nowMs + ttlMs }
    return lease
  }

  renew(lease: Lease, ttlMs: number, nowMs: number): boolean {
    if (!this.isHeld(lease, nowMs) || this.#lease === null) return false
    this.#lease.expiresAtMs = nowMs + ttlMs
    return true
  }

  release(lease: Lease, nowMs: number): void {
    if (this.isHeld(lease, nowMs)) this.#lease = null
  }

  isHeld({ token }: Lease, nowMs: number): boolean {
    return this.#lease?.token === token && this.#lease.expiresAtMs > nowMs
  }

  publish(
    lease: Lease,
    { subject, sequence, base, parts }: Publication,
    nowMs: number,
  ): PublishOutcome {
    if (!this.isHeld(lease, nowMs)) return 'fenced'
    const position = { epoch: lease.epoch, sequence }
    const stored = this.#frames.get(subject)
    const isOlder = stored !== undefined && !isNewer(position, stored)
    const isNext = stored?.epoch === lease.epoch && stored.sequence === base
    if (this.#defect !== 'no-position-check') {
      if (isOlder) return 'older'
      if (base !== null && !isNext) return 'incomplete'
    }
    const kept = base === null || this.#defect === 'changes-replace-all' ? [] : stored?.documents
    const documents = new Map([...(kept ?? []), ...parts.documents])
    this.#frames.set(subject, { ...position, head: parts.head, documents })
    return 'published'
  }

  retain(lease: Lease, subjects: readonly string[], nowMs: number): boolean {
    if (!this.isHeld(lease, nowMs)) return false
    for (const subject of this.#frames.keys())
      if (!subjects.includes(subject)) this.#frames.delete(subject)
    return true
  }

  /** @param subjects all of them if absent */
  frames(subjects: Iterable<string> = this.#frames.keys()): readonly Uint8Array[] {
    return [...subjects].flatMap((subject) => {
      const stored = this.#frames.get(subject)
      return stored === undefined ? [] : [joined(stored)]
    })
  }
}
