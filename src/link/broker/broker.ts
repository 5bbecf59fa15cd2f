/**
 * The operations that the link needs of a Valkey or Redis server. The server may lose everything at any moment: it holds
 * documents that the leader sends again, a lease that expires anyway, and no money.
 *
 * Every promise rejects if the server is away or does not reply in time; whether the operation took effect is then
 * unknown.
 */
export interface Broker {
  /** @returns null while another engine holds the lease */
  acquire(engineId: string, ttlMs: number): Promise<Lease | null>
  /** @returns false if the lease is no longer held */
  renew(lease: Lease, ttlMs: number): Promise<boolean>
  /** Lets another engine acquire the lease at once. */
  release(lease: Lease): Promise<void>
  /** Stores a publication for gateways that connect later, and sends it to those that are subscribed. */
  publish(lease: Lease, publication: Publication): Promise<PublishOutcome>
  /** Sends a frame to the gateways that are subscribed. @returns false if the lease is no longer held */
  send(lease: Lease, frame: Uint8Array): Promise<boolean>
  /** Deletes the stored frames of all other subjects. @returns false if the lease is no longer held */
  retain(lease: Lease, subjects: readonly string[]): Promise<boolean>
  /** Stays subscribed through lost connections until it is closed. */
  subscribe(subscriber: Subscriber): BrokerSubscription
  /**
   * The stored state as one frame for each subject. Read after the subscription is active, because frames in between
   * would be lost otherwise.
   * @param subjects all of them if absent
   */
  snapshot(onFrame: (frame: Uint8Array) => void, subjects?: Iterable<string>): Promise<void>
}

/**
 * The right to publish. `epoch` rises with every acquisition, also on a server that lost its data:
 * `max(stored + 1, time of the server in milliseconds)`.
 */
export type Lease = { readonly epoch: number; readonly token: string }

/** A frame that replaces or continues the earlier ones of its subject. */
export type Publication = {
  readonly subject: string
  /** Position within the epoch of the lease; the server refuses a frame that is not newer than the stored one. */
  readonly sequence: number
  /** Sequence of the stored frame that this one continues: only its documents differ. null: it replaces everything. */
  readonly base: number | null
  readonly parts: FrameParts
}

/** The server stores the parts of a frame one by one, and sends them in one message. */
export type FrameParts = {
  readonly head: Uint8Array
  /** By key; none in a frame without documents. */
  readonly documents: ReadonlyMap<string, Uint8Array>
}

/**
 * `older`: a newer frame of the subject is stored. `incomplete`: the stored frame is not the one that this one
 * continues. `fenced`: the lease is no longer held.
 */
export type PublishOutcome = 'published' | 'older' | 'incomplete' | 'fenced'

/** The bytes of a frame as they are sent. */
export function joined({ head, documents }: FrameParts): Uint8Array {
  return Buffer.concat([head, ...documents.values()])
}

export type Subscriber = {
  /** Also after each reconnection; frames may have been lost before. */
  readonly onActive: () => void
  /** The bytes are valid during the call only. */
  readonly onFrame: (frame: Uint8Array) => void
}

export type BrokerSubscription = { close(): void }

/** Ordered by epoch, then by sequence. */
export type FramePosition = { readonly epoch: number; readonly sequence: number }

export function isNewer(one: FramePosition, other: FramePosition): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.sequence > other.sequence)
}
