import type { Address } from 'viem'
import { getAddress } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import { nodeReason } from '../node-error.ts'
import type { PaymentEvent } from '../payment-event.ts'
import type { ChannelClaim } from './channel.ts'
import type { TransactionResult } from './channel-chain.ts'
import type { ChannelRegistry } from './channel-registry.ts'
import type { Channel } from './channel-store.ts'
import { claimOf } from './channel-store.ts'
import type { CollectorLease } from './collector-lease.ts'

export type CollectorOptions = {
  readonly registry: ChannelRegistry
  readonly payTo: string
  readonly clock: Clock
  readonly withdrawDelaySeconds: number
  /** Unclaimed USDC atoms from which a claim is due. */
  readonly unclaimedMax: bigint
  readonly emit: (event: PaymentEvent) => void
  /** With several gateways only its holder claims. */
  readonly lease?: CollectorLease
}

/** Signed amount that is not claimed yet. */
export type Unclaimed = { readonly amount: bigint; readonly oldestMs: number | null }

/** Entries per transaction, about 50,000 gas each. */
const CLAIMS_MAX = 100
const RETRY_MS = 30_000
const WATCH_MS_MIN = 15_000
const WATCH_MS_MAX = 300_000
const SALES_SWEPT_MAX = 1_000

/**
 * Claims vouchers before their payers can withdraw: all after a quarter of the withdrawal delay or from `unclaimedMax`
 * on, one channel's immediately on its withdrawal request. Failures are reported and retried.
 */
export class Collector {
  readonly #options: CollectorOptions
  readonly #payTo: Address
  #cancel = () => {}
  #isStopped = false
  /** Channels with a reported loss. */
  readonly #lost = new Set<string>()
  #pass: Promise<unknown> = Promise.resolve()

  constructor(options: CollectorOptions) {
    this.#options = options
    this.#payTo = getAddress(options.payTo)
  }

  start(): void {
    const { lease } = this.#options
    if (lease === undefined) this.#watchNow()
    else lease.start(() => this.#watchNow())
  }

  /** Waits for the transaction in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#pass
    await this.#options.lease?.stop()
  }

  async unclaimed(): Promise<Unclaimed> {
    return unclaimedOf(await this.#options.registry.store.unclaimed())
  }

  /**
   * Claims everything that is due and pays it out.
   * @returns whether all of it succeeded
   */
  async flush(): Promise<boolean> {
    const turn = this.#pass.then(() => this.#collected((channels) => channels))
    this.#pass = turn
    return turn
  }

  #watchNow(): void {
    this.#cancel()
    this.#pass = this.#pass.then(() => this.#watch())
  }

  /** Until the stop or the loss of the lease. */
  async #watch(): Promise<void> {
    const { clock, withdrawDelaySeconds } = this.#options
    if (!this.#mayClaim) return
    const watchMs = (withdrawDelaySeconds * 1_000) / 16
    const periodMs = Math.min(Math.max(watchMs, WATCH_MS_MIN), WATCH_MS_MAX)
    const went = await this.#collected((channels) => this.#due(channels))
    if (this.#isStopped) return
    this.#cancel = clock.after(went ? periodMs : RETRY_MS, () => this.#watchNow())
  }

  get #mayClaim(): boolean {
    return this.#options.lease?.isHeld ?? true
  }

  /** A stop ends with the transaction in progress. */
  get #mayGoOn(): boolean {
    return this.#mayClaim && !this.#isStopped
  }

  #due(channels: readonly Channel[]): readonly Channel[] {
    const { clock, withdrawDelaySeconds, unclaimedMax } = this.#options
    const claimAfterMs = (withdrawDelaySeconds * 1_000) / 4
    return dueChannels(channels, clock.nowMs(), claimAfterMs, unclaimedMax)
  }

  async #collected(dueOf: (channels: readonly Channel[]) => readonly Channel[]): Promise<boolean> {
    const { registry, clock } = this.#options
    try {
      await registry.store.sweep(clock.nowMs(), SALES_SWEPT_MAX)
      await registry.syncAll()
      const channels = await registry.store.unclaimed()
      this.#reportLosses(channels)
      let went = true
      const claims = dueOf(channels)
        .map(claimOf)
        .filter((claim) => claim !== null)
      for (let from = 0; from < claims.length && this.#mayGoOn; from += CLAIMS_MAX) {
        went = (await this.#claim(claims.slice(from, from + CLAIMS_MAX))) && went
      }
      return this.#isStopped ? went : (await this.#paidOut()) && went
    } catch (cause) {
      // Of the node, or of the store.
      return this.#failed('claims of payment channels are not possible now', nodeReason(cause))
    }
  }

  /** The contract rejects a transaction with one invalid entry: then each half is sent separately. */
  async #claim(claims: readonly ChannelClaim[]): Promise<boolean> {
    if (claims.length === 0 || this.#isStopped) return true
    const { registry } = this.#options
    const sent = await registry.chain.claim(claims)
    if (sent.kind === 'reverted' && claims.length > 1) {
      const half = Math.ceil(claims.length / 2)
      const first = await this.#claim(claims.slice(0, half))
      return (await this.#claim(claims.slice(half))) && first
    }
    for (const { config, voucher } of claims) await registry.sync(voucher.channelId, config)
    return this.#reported(sent, `claim on ${claims.length} channels`)
  }

  /** The payer withdrew an unclaimed amount. It cannot buy on the channel before it has paid that. */
  #reportLosses(channels: readonly Channel[]): void {
    for (const { id, config, charged, balance } of channels) {
      if (charged <= balance || this.#lost.has(id)) continue
      this.#lost.add(id)
      const reason = `${charged - balance} USDC atoms were withdrawn before they were claimed`
      this.#options.emit({ kind: 'failed', route: null, payer: config.payer, reason })
    }
  }

  async #paidOut(): Promise<boolean> {
    const { chain } = this.#options.registry
    if ((await chain.unsettled(this.#payTo)) === 0n) return true
    return this.#reported(await chain.sweep(this.#payTo), 'payout of claimed amount')
  }

  #reported(sent: TransactionResult, what: string): boolean {
    if (sent.kind !== 'mined') return this.#failed(what, sent.reason)
    const { transaction } = sent
    this.#options.emit({ kind: 'collected', route: null, reason: what, transaction })
    return true
  }

  #failed(what: string, cause: string): false {
    this.#options.emit({ kind: 'failed', route: null, reason: what, cause })
    return false
  }
}

/** All channels if the amount is due by its age or size; otherwise those with a pending withdrawal. */
export function dueChannels(
  channels: readonly Channel[],
  nowMs: number,
  claimAfterMs: number,
  unclaimedMax: bigint,
): readonly Channel[] {
  const { amount, oldestMs } = unclaimedOf(channels)
  const isLate = oldestMs !== null && nowMs - oldestMs >= claimAfterMs
  if (isLate || (amount > 0n && amount >= unclaimedMax)) return channels
  return channels.filter(
    (channel) => channel.withdrawRequestedAtSeconds !== 0 && claimOf(channel) !== null,
  )
}

export function unclaimedOf(channels: readonly Channel[]): Unclaimed {
  let amount = 0n
  let oldestMs: number | null = null
  for (const channel of channels) {
    const { claimed, unclaimedSinceMs } = channel
    const claim = claimOf(channel)
    if (claim === null) continue
    amount += claim.total - claimed
    if (unclaimedSinceMs !== null)
      oldestMs = Math.min(oldestMs ?? unclaimedSinceMs, unclaimedSinceMs)
  }
  return { amount, oldestMs }
}
