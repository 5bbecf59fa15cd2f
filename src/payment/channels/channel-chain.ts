import type { Address, Hex, TransactionReceipt } from 'viem'
import { encodeAbiParameters, encodeFunctionData, isAddressEqual } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import { chainOutcome } from '../evm/chain-outcome.ts'
import type { ContractPayers } from '../evm/contract-payers.ts'
import type { PaymentNetwork } from '../evm/networks.ts'
import { isTurnedAway, revertReason } from '../evm/node-answer.ts'
import type { NodeClient } from '../evm/node-client.ts'
import { nodeClient } from '../evm/node-client.ts'
import { payerCode } from '../evm/payer-code.ts'
import { Receipts, receiptOf } from '../evm/receipts.ts'
import { feeOf } from '../evm/transaction-cost.ts'
import type { TransactionSender } from '../evm/transaction-sender.ts'
import { MULTICALL3_ADDRESS } from '../evm/transfer.ts'
import type { RecordCost } from '../ledger/transaction-costs.ts'
import { nodeReason } from '../node-error.ts'
import { PayerConcurrency } from '../payer-concurrency.ts'
import type { ChannelClaim, ChannelConfig, ChannelState } from './channel.ts'
import { CHANNEL_CONTRACT, ChannelDigests, DEPOSIT_COLLECTOR, depositNonce } from './channel.ts'
import { channelAbi, depositTokenAbi } from './channel-abi.ts'
import type { Deposit } from './channel-payload.ts'

/** Result of a transaction. */
export type TransactionResult =
  | { readonly kind: 'mined'; readonly transaction: Hex | '' }
  /** Rejected by the chain without effect. `mined`: its calldata and signatures are public. */
  | { readonly kind: 'reverted'; readonly reason: string; readonly mined?: MinedTransaction }
  /** Never sent. */
  | { readonly kind: 'unsent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string; readonly transaction: Hex }

type MinedTransaction = Pick<TransactionReceipt, 'transactionHash' | 'gasUsed' | 'blockNumber'>

/** A deposit and its channel. */
export type ChannelDeposit = {
  readonly channelId: Hex
  readonly config: ChannelConfig
  readonly deposit: Deposit
}

export type ChannelChainOptions = {
  readonly network: PaymentNetwork
  readonly rpcUrl: string
  /** Times the waits for receipts. */
  readonly clock: Clock
  /** Pays the gas and signs claims and refunds; the `receiverAuthorizer` of all our channels. */
  readonly account: PrivateKeyAccount
  /** Of the account. */
  readonly sender: TransactionSender
  /** Wallets whose settlements failed at our cost. */
  readonly payers: Pick<ContractPayers, 'barred' | 'failed'>
  readonly recordCost?: RecordCost
}

/** A claim costs about 50,000 per channel; this is the gas of a full batch. */
const GAS_MAX = 8_000_000n
/** A deposit costs about 150,000. Bounds what the code of a delegated account can burn. */
const DEPOSIT_GAS_MAX = 300_000n

/** The oldest are asked about again. */
const JUDGED_MAX = 10_000

/** The channel contract on one chain, for a seller. Reads throw when the node does not answer. */
export class ChannelChain {
  readonly digests: ChannelDigests
  readonly authorizer: Address
  readonly #options: ChannelChainOptions
  readonly #client: NodeClient
  readonly #receipts: Receipts
  readonly #deposits = new PayerConcurrency()
  /** Mined deposits whose settlement had ended: a follow-up asks the node about them once. */
  readonly #judged = new BoundedMap<string, true>(JUDGED_MAX)

  constructor(options: ChannelChainOptions) {
    const { network, rpcUrl, clock, account } = options
    this.#options = options
    this.authorizer = account.address
    this.digests = new ChannelDigests(network.chainId)
    this.#client = nodeClient(network, rpcUrl)
    this.#receipts = new Receipts(this.#client, clock)
  }

  /** Whether the contract exists on this chain. */
  async isDeployed(): Promise<boolean> {
    return (await this.#client.getCode({ address: CHANNEL_CONTRACT })) !== undefined
  }

  /** All members of one channel are from the same block. */
  async states(ids: readonly Hex[]): Promise<readonly ChannelState[]> {
    const at = { address: CHANNEL_CONTRACT, abi: channelAbi } as const
    const answers = await this.#client.multicall({
      contracts: ids.flatMap((id) => [
        { ...at, functionName: 'channels', args: [id] } as const,
        { ...at, functionName: 'pendingWithdrawals', args: [id] } as const,
        { ...at, functionName: 'refundNonce', args: [id] } as const,
      ]),
      allowFailure: false,
      batchSize: 0,
      multicallAddress: MULTICALL3_ADDRESS,
    })
    return ids.map((_id, index) => {
      const [amounts, withdrawal, refundNonce] = answers.slice(3 * index, 3 * index + 3)
      const [balance, claimed] = amounts as readonly [bigint, bigint]
      const [, withdrawRequestedAtSeconds] = withdrawal as readonly [bigint, number]
      return { balance, claimed, withdrawRequestedAtSeconds, refundNonce: refundNonce as bigint }
    })
  }

  /** Claimed amount that was not paid out to the receiver yet. */
  async unsettled(receiver: Address): Promise<bigint> {
    const [claimed, settled] = await this.#client.readContract({
      address: CHANNEL_CONTRACT,
      abi: channelAbi,
      functionName: 'receivers',
      args: [receiver, this.#options.network.asset],
    })
    return claimed - settled
  }

  /** Whether the authorization of a deposit was used, by any sender, or cancelled. */
  isUsed({ channelId, config, deposit }: ChannelDeposit): Promise<boolean> {
    return this.#client.readContract({
      address: config.token,
      abi: depositTokenAbi,
      functionName: 'authorizationState',
      args: [config.payer, depositNonce(channelId, deposit.salt)],
    })
  }

  /** @returns why the chain would reject the deposit now, or null */
  async objection(wanted: ChannelDeposit): Promise<string | null> {
    const barred = await this.#options.payers.barred(wanted.config.payer)
    if (barred !== null) return barred
    try {
      await this.#client.call({
        account: this.authorizer,
        to: CHANNEL_CONTRACT,
        data: depositCall(wanted),
      })
      // The code of the payer checks the signature in the transaction, too, and can decide differently there.
      const code = await payerCode(this.#client, wanted.config.payer)
      return code === null ? null : 'invalid_batch_settlement_evm_contract_wallets_not_accepted'
    } catch (cause) {
      if (revertReason(cause) === null) throw cause
      const held = await this.#client.readContract({
        address: wanted.config.token,
        abi: depositTokenAbi,
        functionName: 'balanceOf',
        args: [wanted.config.payer],
      })
      return held < wanted.deposit.amount
        ? 'invalid_batch_settlement_evm_insufficient_balance'
        : 'invalid_batch_settlement_evm_deposit_simulation_failed'
    }
  }

  deposit(wanted: ChannelDeposit): Promise<TransactionResult> {
    const { payer } = wanted.config
    // One at a time: a deposit estimated before the payer's previous one is mined could revert at our cost.
    return this.#deposits.run(payer, { atLeast: 1, current: async () => 1 }, async () => {
      // Again, because an earlier deposit can have failed since the verification.
      try {
        const barred = await this.#options.payers.barred(payer)
        if (barred !== null) return { kind: 'reverted', reason: barred }
      } catch (cause) {
        return { kind: 'unsent', reason: nodeReason(cause) }
      }
      const sent = await this.#send(depositCall(wanted), DEPOSIT_GAS_MAX)
      if (sent.kind !== 'reverted' || sent.mined === undefined) return sent
      const { transactionHash: transaction } = sent.mined
      try {
        await this.#countFailed(wanted, sent.mined)
        return sent
      } catch (cause) {
        // The follow-up of an open payment counts it.
        return { kind: 'unknown', reason: nodeReason(cause), transaction }
      }
    })
  }

  /** Counts a deposit that was mined, and failed, after its settlement had ended. */
  async countFailedAfterwards(wanted: ChannelDeposit, transaction: string): Promise<void> {
    if (this.#judged.get(transaction) === true) return
    const promised = await receiptOf(this.#client, transaction as Hex)
    if (promised === null) return
    const receipt = await this.#receipts.sealed(promised, this.#options.clock.nowMs())
    if (receipt === null) return
    const isOurs = isAddressEqual(receipt.from, this.authorizer)
    if (isOurs && receipt.status === 'reverted') await this.#countFailed(wanted, receipt)
    this.#judged.set(transaction, true)
  }

  /**
   * The payer is at fault, because the estimate succeeded just before, unless the authorization expired before the block or
   * another sender made the deposit.
   */
  async #countFailed(
    wanted: ChannelDeposit,
    { transactionHash: transaction, gasUsed: gas, blockNumber }: MinedTransaction,
  ): Promise<void> {
    const seconds = await this.#receipts.blockSeconds(blockNumber)
    const isExpired = seconds >= wanted.deposit.validBefore
    const strikes = isExpired || (await this.#isMadeByOther(wanted, blockNumber)) ? 0 : 1
    const { payer } = wanted.config
    await this.#options.payers.failed({
      ...{ payer, code: null, transaction, reserved: null, strikes, gas },
    })
  }

  /**
   * Anybody can submit a deposit; to cancel it or to use its nonce otherwise takes the payer.
   * @throws while the node does not show it
   */
  async #isMadeByOther(
    { channelId, config, deposit }: ChannelDeposit,
    blockNumber: bigint,
  ): Promise<boolean> {
    const { amount: value, validAfter, validBefore, salt } = deposit
    const terms = { from: config.payer, to: DEPOSIT_COLLECTOR, value, validAfter, validBefore }
    const authorization = { ...terms, nonce: depositNonce(channelId, salt) }
    const payment = { authorization, chain: this.#options.network }
    const outcome = await chainOutcome(this.#client, payment, blockNumber)
    if (outcome.kind === 'unknown') throw new Error(outcome.reason)
    return outcome.kind === 'settled'
  }

  async claim(claims: readonly ChannelClaim[]): Promise<TransactionResult> {
    return this.#send(await this.#claimCall(claims))
  }

  /** Pays the claimed amount out to the receiver. */
  sweep(receiver: Address): Promise<TransactionResult> {
    return this.#send(
      encodeFunctionData({
        abi: channelAbi,
        functionName: 'settle',
        args: [receiver, this.#options.network.asset],
      }),
    )
  }

  /** Claims what is due and refunds the payer in one transaction. Of two concurrent refunds of a channel one would revert. */
  async refund(
    channelId: Hex,
    config: ChannelConfig,
    amount: bigint,
    nonce: bigint,
    due: ChannelClaim | null,
  ): Promise<TransactionResult> {
    const signature = await this.#options.account.sign({
      hash: this.digests.refund(channelId, nonce, amount),
    })
    const refund = encodeFunctionData({
      abi: channelAbi,
      functionName: 'refundWithSignature',
      args: [config, amount, nonce, signature],
    })
    const data =
      due === null
        ? refund
        : encodeFunctionData({
            abi: channelAbi,
            functionName: 'multicall',
            args: [[await this.#claimCall([due]), refund]],
          })
    return this.#send(data)
  }

  async #claimCall(claims: readonly ChannelClaim[]): Promise<Hex> {
    const signature = await this.#options.account.sign({ hash: this.digests.claimBatch(claims) })
    const rows = claims.map(({ config, voucher, total }) => ({
      voucher: { channel: config, maxClaimableAmount: voucher.cumulative },
      signature: voucher.signature,
      totalClaimed: total,
    }))
    return encodeFunctionData({
      abi: channelAbi,
      functionName: 'claimWithSignature',
      args: [rows, signature],
    })
  }

  async #send(data: Hex, gasMax = GAS_MAX): Promise<TransactionResult> {
    const { network, sender, recordCost } = this.#options
    const call = { to: CHANNEL_CONTRACT, data }
    // Each can be mined although its sending failed.
    const signed: Hex[] = []
    try {
      const gas = await this.#client.estimateGas({ account: this.authorizer, ...call })
      if (gas > gasMax) throw new RangeError(`gas estimate ${gas} exceeds the limit of ${gasMax}`)
      // Margin for state changes between the estimate and the block.
      const wanted = { ...call, gas: (gas * 12n) / 10n }
      const { hash: transaction } = await sender.send(wanted, {
        untilMined: false,
        onSigned: (hash) => signed.push(hash),
      })
      const deadlineMs = this.#receipts.deadlineMs()
      const promised = await this.#receipts.promised(transaction, deadlineMs)
      // A flashblock is not final, and `states` reads sealed blocks only.
      const receipt = promised && (await this.#receipts.sealed(promised, deadlineMs))
      if (receipt === null) throw new Error('the transaction is in no block yet')
      recordCost?.({
        ...{ network: network.network, transaction, purpose: 'channel', payments: 0 },
        fee: feeOf(receipt),
      })
      return receipt.status === 'success'
        ? { kind: 'mined', transaction }
        : { kind: 'reverted', reason: `${transaction} was mined and reverted`, mined: receipt }
    } catch (cause) {
      // It may have been dropped, and its nonce be free again.
      if (signed.length > 0) sender.discardNonce()
      const reason = nodeReason(cause)
      const [last, ...earlier] = signed.toReversed()
      if (last !== undefined && (earlier.length > 0 || !isTurnedAway(cause)))
        return { kind: 'unknown', reason, transaction: last }
      return { kind: revertReason(cause) === null ? 'unsent' : 'reverted', reason }
    }
  }
}

function depositCall({ config, deposit }: ChannelDeposit): Hex {
  const { amount, validAfter, validBefore, salt, signature } = deposit
  const authorization = encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }, { type: 'bytes' }],
    [validAfter, validBefore, BigInt(salt), signature],
  )
  return encodeFunctionData({
    abi: channelAbi,
    functionName: 'deposit',
    args: [config, amount, DEPOSIT_COLLECTOR, authorization],
  })
}
