import assert from 'node:assert/strict'
import { getAddress, isAddressEqual } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import { OperatingError, reasonOf } from '../../domain/errors.ts'
import type { PaymentNetwork } from '../evm/networks.ts'
import { nodeReason } from '../node-error.ts'
import type {
  AskNode,
  Outcome,
  Payment,
  PaymentMethod,
  Purchase,
  Settlement,
  Verification,
} from '../payment.ts'
import { SETTLE_MS_MAX } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { wirePayload } from '../wire-payload.ts'
import { WITHDRAW_DELAY_SECONDS_MAX, WITHDRAW_DELAY_SECONDS_MIN } from './channel.ts'
import type { ChannelDeposit, TransactionResult } from './channel-chain.ts'
import {
  CUMULATIVE_MISMATCH,
  channelStateWire,
  checkConfig,
  checkCumulative,
  checkDeposit,
  checkVoucherSignature,
} from './channel-check.ts'
import type { ChannelPayload } from './channel-payload.ts'
import { channelPayloadHash, decodeChannelPayload, wireOfPayload } from './channel-payload.ts'
import type { ChannelRegistry } from './channel-registry.ts'
import type { Channel, RefundBegin } from './channel-store.ts'
import { claimOf, covers, isLeaving } from './channel-store.ts'

export type BatchSettlementOptions = {
  readonly network: PaymentNetwork
  readonly payTo: string
  readonly withdrawDelaySeconds: number
  readonly registry: ChannelRegistry
  readonly clock: Clock
}

/** A voucher does not expire; its answer is stored as if it expired after this time. */
const VOUCHER_SECONDS = 120
/**
 * A client that lost its state signs its old vouchers again, byte for byte. Once a later voucher was accepted, a
 * repetition counts as a retry for this long, and then as such a client: it gets the channel state instead of its old
 * answers.
 */
const RETRY_MS_MAX = 60_000
/** One USDC: recommended deposit, because each deposit costs a transaction and a block. */
const DEPOSIT_ADVISED = '1000000'
/** 0.1 USDC. Smaller refunds cost more gas than they are worth, except the whole remainder. */
const REFUND_MIN = 100_000n
const PREFIX = 'invalid_batch_settlement_evm_'

/**
 * USDC on an EVM chain by payment channels: one deposit, then a signature per call. Contract wallets are not supported,
 * because their vouchers can only be checked on chain.
 */
export function batchSettlement(options: BatchSettlementOptions): PaymentMethod {
  const { network, payTo, withdrawDelaySeconds, registry } = options
  assert(
    withdrawDelaySeconds >= WITHDRAW_DELAY_SECONDS_MIN &&
      withdrawDelaySeconds <= WITHDRAW_DELAY_SECONDS_MAX,
    'the withdrawal delay is 15 minutes to 30 days',
  )
  return {
    scheme: 'batch-settlement',
    network: network.network,
    legacyName: null,
    asset: network.asset,
    payTo: getAddress(payTo),
    extra: {
      ...network.domain,
      receiverAuthorizer: registry.chain.authorizer,
      withdrawDelay: withdrawDelaySeconds,
      minDeposit: DEPOSIT_ADVISED,
    },
    read: (raw, purchase) => new ChannelPayment(decodeChannelPayload(raw), purchase, options),
  }
}

class ChannelPayment implements Payment {
  readonly requirement: Payment['requirement']
  readonly resourceUrl: string
  readonly payer: string
  readonly nonce: string
  readonly hash: string
  readonly validBeforeSeconds: number
  readonly wire: Payment['wire']
  /** A client that lost its state signs an old voucher again; it gets the channel state unless that total was claimed. */
  readonly refusesRepetitions = true
  readonly operation?: 'refund'
  readonly limitedAs: string
  readonly #payload: ChannelPayload
  readonly #options: BatchSettlementOptions
  readonly #registry: ChannelRegistry

  constructor(payload: ChannelPayload, purchase: Purchase, options: BatchSettlementOptions) {
    const { config, voucher } = payload
    this.#payload = payload
    this.#options = options
    this.#registry = options.registry
    this.requirement = purchase.requirement
    this.resourceUrl = purchase.resourceUrl
    this.payer = config.payer
    this.nonce = `${voucher.channelId}:${voucher.cumulative}`
    this.hash = channelPayloadHash(options.network.network, payload)
    this.validBeforeSeconds =
      payload.kind === 'deposit'
        ? Number(payload.deposit.validBefore)
        : Math.floor(options.clock.nowMs() / 1_000) + VOUCHER_SECONDS
    this.wire = wirePayload(purchase, wireOfPayload(payload))
    if (payload.kind === 'refund') this.operation = 'refund'
    this.limitedAs = limitedAs(payload)
  }

  /** Uses memory and disk, except for a channel that is not known yet. */
  async check(nowMs: number, ask: AskNode): Promise<Rejection | null> {
    const { network } = this.#options
    const { digests } = this.#registry.chain
    const payload = this.#payload
    return (
      checkConfig(payload, this.requirement, digests) ??
      checkVoucherSignature(payload, digests) ??
      (payload.kind === 'deposit'
        ? checkDeposit(payload, payload.deposit, network, nowMs)
        : null) ??
      (await this.#checkCumulative(ask))
    )
  }

  async verify(): Promise<Verification> {
    try {
      const reason =
        this.#payload.kind === 'deposit' ? await this.#depositFault() : await this.#voucherFault()
      return reason === null ? { kind: 'valid' } : { kind: 'invalid', reason }
    } catch (cause) {
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
  }

  async settle(): Promise<Settlement> {
    if (this.#payload.kind === 'refund') {
      const { amount, voucher } = this.#payload
      return this.#registry.refundAlone(voucher.channelId, () => this.#refund(amount))
    }
    const beganMs = this.#options.clock.nowMs()
    let [before, channel]: [Settlement | null, Channel | null] = [null, null]
    try {
      before = await this.#sold()
      if (before === null && this.#payload.kind === 'voucher') channel = await this.#channel()
    } catch (cause) {
      return {
        kind: 'unreachable',
        reason: `the payment channels cannot be read: ${reasonOf(cause)}`,
      }
    }
    if (before !== null) return before
    if (this.#payload.kind === 'voucher') return this.#commit(channel, '', beganMs)
    const sent = await this.#deposited()
    if (sent.kind !== 'mined') return settlementOf(sent, 'deposit')
    const { transaction } = sent
    try {
      channel = await this.#sync()
      // One node behind the RPC URL can have the receipt while another lacks the block.
      const isSeen = (channel?.balance ?? 0n) >= this.#payload.voucher.cumulative
      if (transaction !== '' && !isSeen)
        return { kind: 'unknown', reason: 'the deposit is not visible on chain yet', transaction }
      return await this.#commit(channel, transaction)
    } catch (cause) {
      return { kind: 'unknown', reason: nodeReason(cause), transaction }
    }
  }

  /** A voucher that was not recorded with its answer can never be charged on its own. */
  async outcome(sent: string | null = null): Promise<Outcome> {
    const { voucher, kind } = this.#payload
    // An attempt that was given up can still be under way here, or on its way to the database.
    if (kind === 'voucher') await this.#registry.store.supersede(voucher.channelId)
    const before = await this.#sold()
    if (before?.kind === 'settled') return before
    const channel = await this.#channel()
    const isPassed = channel !== null && channel.charged >= voucher.cumulative
    // A node that does not answer changes nothing about the outcome.
    if (kind === 'deposit' && sent !== null)
      await this.#registry.chain.countFailedAfterwards(this.#wanted(), sent).catch(() => undefined)
    return kind === 'deposit' && !isPassed
      ? { kind: 'unused', asOfSeconds: Math.floor(this.#options.clock.nowMs() / 1_000) }
      : { kind: 'forfeited' }
  }

  async isOutdated(): Promise<boolean> {
    const { channelId, cumulative } = this.#payload.voucher
    const sale = await this.#registry.store.sale(channelId, cumulative)
    if (sale === null || this.#options.clock.nowMs() - sale.soldMs <= RETRY_MS_MAX) return false
    const channel = await this.#channel()
    return channel !== null && channel.charged > cumulative
  }

  /** A stored voucher has the signature of this channel's authorizer. Refund requests can be made from what claims publish. */
  async hasBought(): Promise<boolean> {
    if (this.operation !== undefined) return false
    const channel = await this.#channel()
    return channel !== null && channel.signature !== null
  }

  /** Members by which the client of the SDK tracks the channel. */
  async receiptMembers(): Promise<Readonly<Record<string, unknown>>> {
    const { voucher, kind } = this.#payload
    const channel = await this.#channel()
    if (channel === null) return {}
    const channelState = channelStateWire(channel, voucher.cumulative)
    if (kind === 'refund') return { extra: { channelState } }
    return { extra: { chargedAmount: this.requirement.amount.toString(), channelState } }
  }

  async #checkCumulative(ask: AskNode): Promise<Rejection | null> {
    const channel = (await this.#channel()) ?? (await ask(() => this.#firstSight()))
    return checkCumulative(this.#payload, channel, this.requirement)
  }

  async #firstSight(): Promise<Channel | null> {
    try {
      return await this.#sync()
    } catch (cause) {
      // The owner of the channel is unknown, so the limit of no wallet may be used.
      throw new OperatingError('node_unanswered', nodeReason(cause))
    }
  }

  async #voucherFault(): Promise<string | null> {
    const { cumulative } = this.#payload.voucher
    let channel = await this.#channel()
    // Before a refusal the chain is asked, because the deposit may have been increased.
    if (channel === null || !this.#registry.isFresh(channel) || !covers(channel, cumulative)) {
      channel = await this.#sync()
    }
    if (channel === null) return `${PREFIX}channel_not_found`
    if (isLeaving(channel)) return `${PREFIX}withdrawal_pending`
    return covers(channel, cumulative) ? null : `${PREFIX}cumulative_exceeds_balance`
  }

  async #depositFault(): Promise<string | null> {
    const wanted = this.#wanted()
    const objection = await this.#registry.chain.objection(wanted)
    // Anybody can submit a deposit; then the money is in the channel already.
    if (objection !== null && !(await this.#registry.chain.isUsed(wanted))) return objection
    const channel = await this.#sync()
    if (channel !== null && isLeaving(channel)) return `${PREFIX}withdrawal_pending`
    const coming = objection === null ? wanted.deposit.amount : 0n
    const balance = (channel?.balance ?? 0n) + coming
    return this.#payload.voucher.cumulative <= balance
      ? null
      : `${PREFIX}cumulative_exceeds_balance`
  }

  /** Submits the deposit. A deposit that is on chain already is rejected before it is sent, at no cost. */
  async #deposited(): Promise<TransactionResult> {
    const wanted = this.#wanted()
    const { chain } = this.#registry
    const sent = await chain.deposit(wanted)
    if (sent.kind !== 'reverted') return sent
    try {
      return (await chain.isUsed(wanted)) ? { kind: 'mined', transaction: '' } : sent
    } catch (cause) {
      return { kind: 'unsent', reason: nodeReason(cause) }
    }
  }

  /**
   * Durable when this returns `settled`.
   * @param beganMs of a voucher, which nothing may charge once its attempt is given up: its outcome is final then
   */
  async #commit(
    channel: Channel | null,
    transaction: string,
    beganMs: number | null = null,
  ): Promise<Settlement> {
    const { channelId, cumulative, signature } = this.#payload.voucher
    const { amount, method } = this.requirement
    const { store } = this.#registry
    if (channel === null) return { kind: 'rejected', reason: `${PREFIX}channel_not_found` }
    const { network, asset } = method
    const payment = { network, asset, payer: this.payer, nonce: this.nonce }
    const sale = { channelId, payment, cumulative, amount, signature, hash: this.hash, transaction }
    const { clock } = this.#options
    const isAwaited = () => beganMs === null || clock.nowMs() - beganMs < SETTLE_MS_MAX
    const result = await store.commit(sale, clock.nowMs(), isAwaited)
    switch (result) {
      case 'committed':
        return { kind: 'settled', transaction }
      case 'counted':
        return { kind: 'rejected', reason: CUMULATIVE_MISMATCH }
      case 'uncovered':
        return { kind: 'rejected', reason: `${PREFIX}cumulative_exceeds_balance` }
      case 'superseded': {
        const reason = 'the payment was given up, or another gateway took it over'
        return transaction === ''
          ? { kind: 'unreachable', reason }
          : { kind: 'unknown', reason, transaction }
      }
      default:
        return result satisfies never
    }
  }

  /** Refunds the remainder and claims unclaimed sales in the same transaction. */
  async #refund(wanted: bigint | null): Promise<Settlement> {
    const { store, chain } = this.#registry
    const { channelId, cumulative } = this.#payload.voucher
    const rejected = (reason: string): Settlement => ({ kind: 'rejected', reason: PREFIX + reason })
    let channel: Channel | null
    try {
      channel = await this.#sync()
    } catch (cause) {
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
    if (channel === null) return rejected('missing_channel')
    if (channel.charged !== cumulative) return { kind: 'rejected', reason: CUMULATIVE_MISMATCH }
    const left = channel.balance - channel.charged
    if (left <= 0n) return rejected('refund_no_balance')
    const { config, refundNonce } = channel
    const amount = wanted === null || wanted > left ? left : wanted
    if (amount < left && amount < REFUND_MIN) return rejected('refund_amount_invalid')
    if (amount < left && this.#registry.wasJustRefunded(channelId))
      return rejected('refund_too_soon')
    let begin: RefundBegin
    try {
      begin = await store.beginRefund(channel)
    } catch (cause) {
      // Nothing was sent.
      return {
        kind: 'unreachable',
        reason: `the payment channels cannot be written: ${reasonOf(cause)}`,
      }
    }
    if (begin === 'changed') return { kind: 'rejected', reason: CUMULATIVE_MISMATCH }
    const sent = await chain.refund(channelId, config, amount, refundNonce, claimOf(channel))
    // Once it was in a block, the payer can send the signed refund itself, also after a revert: the channel stays closed.
    const isPublic = sent.kind === 'mined' || (sent.kind === 'reverted' && sent.mined !== undefined)
    const isOver = !isPublic && (sent.kind === 'reverted' || sent.kind === 'unsent')
    // Another gateway may have sent the same refund; the chain's refund nonce has then increased.
    const isMine = begin === 'begun' && isOver
    const now = isPublic || isMine ? await this.#sync().catch(() => channel) : channel
    if (isMine && now?.refundNonce === refundNonce) await store.cancelRefund(channelId)
    if (sent.kind === 'mined') this.#registry.refunded(channelId)
    return settlementOf(sent, 'refund')
  }

  async #sold(): Promise<Extract<Settlement, { kind: 'settled' }> | null> {
    const { channelId, cumulative } = this.#payload.voucher
    const sale = await this.#registry.store.sale(channelId, cumulative)
    return sale?.hash === this.hash ? { kind: 'settled', transaction: sale.transaction } : null
  }

  #channel(): Promise<Channel | null> {
    return this.#registry.store.find(this.#payload.voucher.channelId)
  }

  #sync(): Promise<Channel | null> {
    return this.#registry.sync(this.#payload.voucher.channelId, this.#payload.config)
  }

  #wanted(): ChannelDeposit {
    const { kind, config, voucher } = this.#payload
    if (kind !== 'deposit') throw new TypeError('the payload has no deposit')
    return { channelId: voucher.channelId, config, deposit: this.#payload.deposit }
  }
}

/**
 * Key of the rate limits. Anyone can fund a channel for another payer with their own authorizer, and a claim publishes
 * what a refund request needs, so neither proves the payer.
 */
function limitedAs({ kind, config, voucher }: ChannelPayload): string {
  const { payer, payerAuthorizer } = config
  if (kind === 'refund') return `refund|${voucher.channelId}`
  return isAddressEqual(payer, payerAuthorizer) ? payer : `${payer}|${payerAuthorizer}`
}

function settlementOf(sent: TransactionResult, what: 'deposit' | 'refund'): Settlement {
  switch (sent.kind) {
    case 'mined':
      return { kind: 'settled', transaction: sent.transaction }
    case 'reverted':
      return { kind: 'rejected', reason: `${PREFIX}${what}_transaction_failed` }
    case 'unsent':
      return { kind: 'unreachable', reason: sent.reason }
    case 'unknown':
      return sent
    default:
      return sent satisfies never
  }
}
