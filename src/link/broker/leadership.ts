import type { Clock } from '../../domain/clock.ts'
import type { Broker, Lease } from './broker.ts'

/** A dead leader is replaced after this time at most, plus one poll. */
const LEASE_TTL_MS = 3_000
const RENEW_PERIOD_MS = 1_000
const POLL_PERIOD_MS = 250

export type LeadershipOptions = {
  readonly broker: Pick<Broker, 'acquire' | 'renew' | 'release'>
  /** Unique for this process. */
  readonly engineId: string
  readonly clock: Pick<Clock, 'every'>
  /** Time that nothing sets, milliseconds. */
  readonly monotonicMs: () => number
  /** Whether the engine of this process works. Otherwise another one must lead. */
  readonly isFit: () => boolean
  /** null: this process no longer leads. */
  readonly onChange: (lease: Lease | null) => void
}

type Held = { readonly lease: Lease; untilMs: number; renewedAtMs: number }

/**
 * Holds the lease of the leading engine while it can. Validity counts from before a request was sent, so this process
 * stops publishing before the broker gives the lease to another one.
 */
export class Leadership {
  readonly #options: LeadershipOptions
  #held: Held | null = null
  #isAsking = false
  #isStopped = false
  #cancelPoll = () => {}

  constructor(options: LeadershipOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelPoll = this.#options.clock.every(POLL_PERIOD_MS, () => this.#poll())
    this.#poll()
  }

  /** null unless this process may publish now. */
  get lease(): Lease | null {
    if (this.#held === null || this.#options.monotonicMs() >= this.#held.untilMs) return null
    return this.#held.lease
  }

  /** The broker refused a lease: another engine may lead. */
  lost(lease: Lease): void {
    if (this.#held?.lease === lease) this.#drop()
  }

  /** Gives the lease up, so that a standby leads at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelPoll()
    await this.#resign()
  }

  #poll(): void {
    if (this.#held !== null && this.lease === null) this.#drop()
    if (!this.#options.isFit()) {
      void this.#resign()
      return
    }
    if (this.#isAsking) return
    if (this.#held === null) void this.#acquire()
    else if (this.#options.monotonicMs() - this.#held.renewedAtMs >= RENEW_PERIOD_MS)
      void this.#renew(this.#held)
  }

  async #acquire(): Promise<void> {
    const { broker, engineId, monotonicMs, isFit, onChange } = this.#options
    const sentAtMs = monotonicMs()
    const lease = await this.#ask(broker.acquire(engineId, LEASE_TTL_MS))
    if (lease === null || lease === undefined) return
    const untilMs = sentAtMs + LEASE_TTL_MS
    if (this.#isStopped || !isFit() || monotonicMs() >= untilMs) {
      await this.#release(lease)
      return
    }
    this.#held = { lease, untilMs, renewedAtMs: sentAtMs }
    onChange(lease)
  }

  async #renew(held: Held): Promise<void> {
    const { broker, monotonicMs } = this.#options
    const sentAtMs = monotonicMs()
    held.renewedAtMs = sentAtMs
    const isRenewed = await this.#ask(broker.renew(held.lease, LEASE_TTL_MS))
    if (isRenewed === undefined) return
    if (!isRenewed) this.lost(held.lease)
    else if (this.#held === held && this.lease !== null) held.untilMs = sentAtMs + LEASE_TTL_MS
    // Renewed after this process stopped to publish: a new acquisition needs the lease to be free.
    else await this.#release(held.lease)
  }

  /** @returns undefined if the broker did not reply, after which the validity runs out or the next poll asks again */
  async #ask<Reply>(reply: Promise<Reply>): Promise<Reply | undefined> {
    this.#isAsking = true
    try {
      return await reply
    } catch {
      return undefined
    } finally {
      this.#isAsking = false
    }
  }

  async #resign(): Promise<void> {
    const lease = this.#held?.lease
    if (lease === undefined) return
    this.#drop()
    await this.#release(lease)
  }

  #drop(): void {
    this.#held = null
    this.#options.onChange(null)
  }

  /** If the broker is away, the lease expires by itself. */
  async #release(lease: Lease): Promise<void> {
    await this.#options.broker.release(lease).catch(() => {})
  }
}
