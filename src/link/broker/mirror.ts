import { backOffMs } from '../../domain/back-off.ts'
import type { Clock } from '../../domain/clock.ts'
import type { EngineReplica } from '../engine-replica.ts'
import type { Broker, BrokerSubscription } from './broker.ts'
import type { FrameSource } from './frame.ts'
import { FrameReceiver } from './frame-receiver.ts'

/** Without a heartbeat for longer, the connection is replaced, whatever its state. */
const SILENCE_MS_MAX = 3_000
/** Without a heartbeat for longer, no engine leads. A change of leader takes less. */
const UNAVAILABLE_AFTER_MS = 10_000
const WATCH_PERIOD_MS = 250
/** Between two snapshots of one connection. */
const SNAPSHOT_PAUSE = { minMs: 250, maxMs: 10_000 }

export type MirrorNotice =
  | { readonly kind: 'leader-changed'; readonly epoch: number }
  /** Everything that the broker stores has been read. */
  | { readonly kind: 'synchronized'; readonly frames: number }
  | { readonly kind: 'reconnecting'; readonly silentMs: number }
  /** Damaged or of another format; the stored state is read again. */
  | { readonly kind: 'frame-refused'; readonly bytes: number }

export type MirrorOptions = {
  readonly broker: Pick<Broker, 'subscribe' | 'snapshot'>
  readonly replica: EngineReplica
  readonly clock: Clock
  /** Time that nothing sets, milliseconds. */
  readonly monotonicMs: () => number
  readonly onNotice: (notice: MirrorNotice) => void
}

/**
 * Keeps a gateway's replica equal to the leading engine: subscribes, then reads what is stored, and trusts no connection
 * without heartbeats.
 */
export class Mirror {
  readonly #options: MirrorOptions
  readonly #receiver: FrameReceiver
  readonly #startedAtMs: number
  #heartbeatAtMs: number | null = null
  #connectedAtMs: number
  #subscription: BrokerSubscription | null = null
  /** Counted, because what a replaced connection still delivers is ignored. */
  #connections = 0
  #isSynchronized = false
  #isReading = false
  /** Subjects of which frames may have been missed since the present snapshot began. */
  #wanted: 'all' | Set<string> | null = null
  #snapshotsInSequence = 0
  #refused = 0
  #cancelWatch = () => {}
  #cancelRead = () => {}

  constructor(options: MirrorOptions) {
    const { replica, clock, monotonicMs } = options
    this.#options = options
    this.#receiver = new FrameReceiver(replica, () => clock.nowMs(), monotonicMs)
    this.#startedAtMs = monotonicMs()
    this.#connectedAtMs = this.#startedAtMs
  }

  start(): void {
    // The engine does not start with this process.
    this.#options.replica.disconnected()
    this.#cancelWatch = this.#options.clock.every(WATCH_PERIOD_MS, () => this.#watch())
    this.#connect()
  }

  stop(): void {
    this.#connections += 1
    this.#cancelWatch()
    this.#cancelRead()
    this.#subscription?.close()
  }

  /** Whether the replica is complete and fresh, and lists a coin. */
  get isReady(): boolean {
    const isFresh = this.#heartbeatAtMs !== null && this.silentMs <= SILENCE_MS_MAX
    return isFresh && this.#isSynchronized && this.#options.replica.coins().length > 0
  }

  /** Since the last heartbeat of the newest leader, or since the start. */
  get silentMs(): number {
    return this.#options.monotonicMs() - (this.#heartbeatAtMs ?? this.#startedAtMs)
  }

  /** Of the newest leader; 0 before its first frame. */
  get epoch(): number {
    return this.#receiver.epoch
  }

  /** Number of frames that were damaged or of another format. */
  get refusedFrames(): number {
    return this.#refused
  }

  #connect(): void {
    const { broker, monotonicMs } = this.#options
    this.#connections += 1
    const connection = this.#connections
    this.#cancelRead()
    this.#isReading = false
    this.#wanted = null
    this.#isSynchronized = false
    this.#snapshotsInSequence = 0
    this.#connectedAtMs = monotonicMs()
    this.#subscription = broker.subscribe({
      onActive: () => {
        if (connection !== this.#connections) return
        this.#isSynchronized = false
        this.#readAll()
      },
      onFrame: (bytes) => {
        if (connection === this.#connections) this.#receive(bytes, 'channel')
      },
    })
  }

  #watch(): void {
    const { replica, onNotice, monotonicMs } = this.#options
    const { silentMs } = this
    if (silentMs > UNAVAILABLE_AFTER_MS) replica.disconnected()
    const connectedMs = monotonicMs() - this.#connectedAtMs
    if (silentMs <= SILENCE_MS_MAX || connectedMs <= SILENCE_MS_MAX) return
    onNotice({ kind: 'reconnecting', silentMs })
    this.#subscription?.close()
    this.#connect()
  }

  #receive(bytes: Uint8Array, source: FrameSource): void {
    const { onNotice, monotonicMs } = this.#options
    const before = this.#receiver.epoch
    const receipt = this.#receiver.receive(bytes, source)
    if (this.#receiver.epoch !== before)
      onNotice({ kind: 'leader-changed', epoch: this.#receiver.epoch })
    if (receipt === 'heartbeat') this.#heartbeatAtMs = monotonicMs()
    if (receipt === 'former-leader' && this.silentMs > UNAVAILABLE_AFTER_MS) {
      // Only the current leader can publish, so the broker's epochs restarted: its data is lost and its clock went back.
      this.#receiver.restart()
      this.#readAll()
    }
    if (typeof receipt === 'object') this.#readAgain(receipt.subject)
    if (receipt !== 'refused') return
    this.#refused += 1
    onNotice({ kind: 'frame-refused', bytes: bytes.length })
    this.#readAll()
  }

  #readAll(): void {
    this.#wanted = 'all'
    if (!this.#isReading) void this.#read()
  }

  /** A frame of the subject is missing. During a snapshot it is read afterwards, because that may have missed it too. */
  #readAgain(subject: string): void {
    if (this.#wanted === null) this.#wanted = new Set()
    if (this.#wanted !== 'all') this.#wanted.add(subject)
    if (!this.#isReading) void this.#read()
  }

  /** Reads what is stored of the wanted subjects, until nothing is wanted. */
  async #read(): Promise<void> {
    const { broker, clock, onNotice } = this.#options
    const connection = this.#connections
    const subjects = this.#wanted
    this.#isReading = true
    this.#wanted = null
    this.#snapshotsInSequence += 1
    let frames = 0
    try {
      await broker.snapshot(
        (bytes) => {
          if (connection !== this.#connections) return
          frames += 1
          this.#receive(bytes, 'store')
        },
        subjects instanceof Set ? subjects : undefined,
      )
      if (connection !== this.#connections) return
      if (!(subjects instanceof Set)) {
        this.#isSynchronized = true
        onNotice({ kind: 'synchronized', frames })
      }
    } catch {
      if (connection !== this.#connections) return
      this.#wanted = 'all'
    }
    if (this.#wanted === null) {
      this.#isReading = false
      this.#snapshotsInSequence = 0
      return
    }
    const pauseMs = backOffMs(SNAPSHOT_PAUSE, this.#snapshotsInSequence, 1)
    this.#cancelRead = clock.after(pauseMs, () => void this.#read())
  }
}
