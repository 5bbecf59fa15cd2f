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
  /** Stores a frame for gateways that connect later, and sends it to those that are subscribed. */
  publish(lease: Lease, frame: SubjectFrame): Promise<PublishOutcome>
  /** Sends a frame to the gateways that are subscribed. @returns false if the lease is no longer held */
  send(lease: Lease, frame: Uint8Array): Promise<boolean>
  /** Deletes the stored frames of all other subjects. @returns false if the lease is no longer held */
  retain(lease: Lease, subjects: readonly string[]): Promise<boolean>
  /** Stays subscribed through lost connections until it is closed. */
  subscribe(subscriber: Subscriber): BrokerSubscription
  /** The stored frames. Read after the subscription is active, because frames in between would be lost otherwise. */
  snapshot(onFrame: (frame: Uint8Array) => void): Promise<void>
}

/**
 * The right to publish. `epoch` rises with every acquisition, also on a server that lost its data:
 * `max(stored + 1, time of the server in milliseconds)`.
 */
export type Lease = { readonly epoch: number; readonly token: string }

/** A frame that replaces the earlier frame of its subject. */
export type SubjectFrame = {
  readonly subject: string
  /** Position within the epoch of the lease; the server refuses a frame that is not newer than the stored one. */
  readonly sequence: number
  readonly bytes: Uint8Array
}

/** `older`: a newer frame of the subject is stored. `fenced`: the lease is no longer held. */
export type PublishOutcome = 'published' | 'older' | 'fenced'

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
