import type { Hex } from 'viem'
import type { PaymentKey } from '../ledger/ledger.ts'
import type { ChannelClaim, ChannelConfig, ChannelState } from './channel.ts'

/** State of a channel at the last synchronisation and its accepted vouchers. */
export type Channel = ChannelState & {
  readonly id: Hex
  readonly config: ChannelConfig
  /** Total of all sales, claimed or not. */
  readonly charged: bigint
  /** Signature of the voucher for `charged`; null if this store has none. */
  readonly signature: Hex | null
  /** Time of the oldest unclaimed voucher; null if all are claimed. */
  readonly unclaimedSinceMs: number | null
  /** Nonce of a submitted refund: no sales until the chain has a higher nonce. */
  readonly refundSent: bigint | null
  /** Time of the last synchronisation. */
  readonly syncedMs: number
}

/** A voucher to be recorded. */
export type VoucherSale = {
  readonly channelId: Hex
  /** Its row in the ledger. */
  readonly payment: PaymentKey
  /** Total that the payer has paid with it. */
  readonly cumulative: bigint
  /** Amount of this sale. */
  readonly amount: bigint
  readonly signature: Hex
  /** Identifies the payment. */
  readonly hash: string
  /** Deposit transaction of this payment, or empty. */
  readonly transaction: string
}

export type PastSale = Pick<VoucherSale, 'hash' | 'transaction'> & { readonly soldMs: number }

/**
 * `counted`: the total has changed. `uncovered`: the deposit is too small, or a withdrawal is pending. `superseded`: the
 * payment is no longer open or awaited, or another gateway has taken it over.
 */
export type SaleResult = 'committed' | 'counted' | 'uncovered' | 'superseded'

/**
 * `again`: another refund with the same nonce was begun before and can still be mined. `changed`: a sale or a refund came
 * in between; nothing is blocked.
 */
export type RefundBegin = 'begun' | 'again' | 'changed'

/** As long as the ledger may ask for an outcome, and a day more. */
export const SALE_KEPT_MS = 8 * 86_400_000

/** The newest voucher of every channel, durable before its answer is sent. */
export interface ChannelStore {
  find(id: Hex): Promise<Channel | null>
  /** Stores the state on chain. An unknown channel without money is not stored. */
  mirror(
    id: Hex,
    config: ChannelConfig,
    state: ChannelState,
    nowMs: number,
  ): Promise<Channel | null>
  /**
   * Records a voucher: durable when this resolves to `committed`, unchanged otherwise.
   * @param isAwaited no attempt begins once it is false; always true by default
   */
  commit(sale: VoucherSale, nowMs: number, isAwaited?: () => boolean): Promise<SaleResult>
  /** No attempt to record a voucher of this channel that is under way can succeed once this resolves. */
  supersede(id: Hex): Promise<void>
  /** Blocks sales until the chain has counted a refund, if the channel is as `seen`. */
  beginRefund(seen: Channel): Promise<RefundBegin>
  /** The refund was never sent, and no other one either. */
  cancelRefund(id: Hex): Promise<void>
  /** The sale with exactly this total. */
  sale(channelId: Hex, cumulative: bigint): Promise<PastSale | null>
  channels(): Promise<readonly Channel[]>
  /** Channels with an unclaimed amount, oldest first. */
  unclaimed(): Promise<readonly Channel[]>
  /** Deletes up to `rowsMax` expired sales. */
  sweep(nowMs: number, rowsMax: number): Promise<void>
  close(): void
}

/** A channel with a new state on chain. A total that the chain has and this store lacks has no voucher. */
export function mirrored(
  before: Channel | null,
  id: Hex,
  config: ChannelConfig,
  state: ChannelState,
  nowMs: number,
): Channel | null {
  if (before === null && state.balance === 0n) return null
  const charged = max(before?.charged ?? 0n, state.claimed)
  return {
    ...state,
    id,
    config: before?.config ?? config,
    charged,
    signature: charged === before?.charged ? before.signature : null,
    unclaimedSinceMs: charged > state.claimed ? (before?.unclaimedSinceMs ?? nowMs) : null,
    refundSent: before?.refundSent ?? null,
    syncedMs: nowMs,
  }
}

/** A channel after a sale, or why the voucher is not accepted. */
export function afterSale(
  channel: Channel,
  sale: VoucherSale,
  nowMs: number,
): Channel | Exclude<SaleResult, 'committed'> {
  const { cumulative, signature } = sale
  if (!continues(channel, sale)) return 'counted'
  if (!covers(channel, cumulative)) return 'uncovered'
  const unclaimedSinceMs = channel.unclaimedSinceMs ?? nowMs
  return { ...channel, charged: cumulative, signature, unclaimedSinceMs }
}

/** @param current the stored channel. @param seen the channel by which the refund was calculated */
export function refundBegin(current: Channel | null, seen: Channel): RefundBegin {
  if (current?.charged !== seen.charged || current.refundNonce !== seen.refundNonce)
    return 'changed'
  return current.refundSent === current.refundNonce ? 'again' : 'begun'
}

/**
 * Whether a voucher continues the charged total. Without a stored voucher any total from the claimed one on is
 * accepted.
 */
export function continues(
  { charged, signature }: Channel,
  { cumulative, amount }: Pick<VoucherSale, 'cumulative' | 'amount'>,
): boolean {
  const base = cumulative - amount
  return signature === null ? base >= charged : base === charged
}

/** Whether the deposit covers a voucher. Money under withdrawal does not count. */
export function covers(channel: Channel, cumulative: bigint): boolean {
  return cumulative <= channel.balance && !isLeaving(channel)
}

/** A withdrawal was requested, or a refund is in progress. */
export function isLeaving({
  withdrawRequestedAtSeconds,
  refundSent,
  refundNonce,
}: Channel): boolean {
  return withdrawRequestedAtSeconds !== 0 || refundSent === refundNonce
}

/** The due claim of a channel, or null. A withdrawn amount cannot be claimed. */
export function claimOf(channel: Channel): ChannelClaim | null {
  const { id, config, charged, balance, claimed, signature } = channel
  const total = min(charged, balance)
  if (signature === null || total <= claimed) return null
  return { config, voucher: { channelId: id, cumulative: charged, signature }, total }
}

function min(a: bigint, b: bigint): bigint {
  return a > b ? b : a
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
