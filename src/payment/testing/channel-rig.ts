import { randomBytes } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { toHex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import type { Clock } from '../../domain/clock.ts'
import { batchSettlement } from '../channels/batch-settlement.ts'
import type { ChannelConfig } from '../channels/channel.ts'
import { ChannelDigests, DEPOSIT_COLLECTOR, depositNonce } from '../channels/channel.ts'
import { ChannelChain } from '../channels/channel-chain.ts'
import { ChannelRegistry } from '../channels/channel-registry.ts'
import type { ChannelStore } from '../channels/channel-store.ts'
import { Collector } from '../channels/collector.ts'
import { SqliteChannelStore } from '../channels/sqlite-channel-store.ts'
import { OwnTurns } from '../evm/account-turns.ts'
import { ContractPayers } from '../evm/contract-payers.ts'
import { base } from '../evm/networks.ts'
import { nodeClient } from '../evm/node-client.ts'
import { TransactionSender } from '../evm/transaction-sender.ts'
import type { PaymentMethod } from '../payment.ts'
import type { PaymentEvent } from '../payment-event.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import { newSecret } from './new-secret.ts'

export const WITHDRAW_DELAY_SECONDS = 3_600

/** A seller's half of payment channels, over a real chain. */
export type ChannelDesk = {
  readonly method: PaymentMethod
  readonly registry: ChannelRegistry
  readonly store: ChannelStore
  readonly collector: Collector
  readonly events: readonly PaymentEvent[]
}

export function openChannelDesk(options: {
  readonly rpcUrl: string
  readonly key: Hex
  readonly payTo: string
  readonly clock: Clock
  /** Times the waits at the node, which no `ManualClock` can end. */
  readonly nodeClock?: Clock
  readonly path?: string
  readonly unclaimedMax?: bigint
  readonly store?: ChannelStore
}): ChannelDesk {
  const { rpcUrl, key, payTo, clock, path = ':memory:', unclaimedMax = 10n ** 12n } = options
  const { store = new SqliteChannelStore(path), nodeClock = clock } = options
  const account = privateKeyToAccount(key)
  const sender = new TransactionSender(nodeClient(base, rpcUrl), account, clock, new OwnTurns())
  const payers = new ContractPayers({
    ...{ network: base.network, failures: StoredFailedSettlements.inMemory(), clock },
    ...{ isTaken: false, gasPerHourMax: 0n, emit: () => undefined },
  })
  const chain = new ChannelChain({
    ...{ network: base, rpcUrl, clock: nodeClock, account, sender, payers },
  })
  const registry = new ChannelRegistry({
    store,
    chain,
    clock,
    freshMs: WITHDRAW_DELAY_SECONDS * 250,
  })
  const common = { registry, payTo, clock, withdrawDelaySeconds: WITHDRAW_DELAY_SECONDS }
  const events: PaymentEvent[] = []
  return {
    method: batchSettlement({ ...common, network: base }),
    registry,
    store,
    collector: new Collector({ ...common, unclaimedMax, emit: (event) => events.push(event) }),
    events,
  }
}

const digests = new ChannelDigests(base.chainId)

/** A channel as a buyer makes it up from a quote. */
export function channelConfig(
  buyer: Address,
  { payTo, authorizer }: { readonly payTo: string; readonly authorizer: Address },
  choices: Partial<ChannelConfig> = {},
): ChannelConfig {
  return {
    payer: buyer,
    payerAuthorizer: buyer,
    receiver: payTo as Address,
    receiverAuthorizer: authorizer,
    token: base.asset,
    withdrawDelay: WITHDRAW_DELAY_SECONDS,
    salt: `0x${'00'.repeat(32)}`,
    ...choices,
  }
}

/** A voucher as its buyer signs it, in the form of the wire. */
export async function signedVoucher(
  signer: PrivateKeyAccount,
  config: ChannelConfig,
  cumulative: bigint,
) {
  const channelId = digests.channelId(config)
  return {
    channelId,
    maxClaimableAmount: cumulative.toString(),
    signature: await signer.sign({ hash: digests.voucher(channelId, cumulative) }),
  }
}

/** The authorization to fetch a deposit, signed by viem's own encoder. */
export async function signedDeposit(
  buyer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
  validBeforeSeconds: bigint,
) {
  const salt = toHex(randomBytes(32))
  const message = {
    from: buyer.address,
    to: DEPOSIT_COLLECTOR,
    value: amount,
    validAfter: 0n,
    validBefore: validBeforeSeconds,
    nonce: depositNonce(digests.channelId(config), salt),
  }
  const signature = await buyer.signTypedData({
    domain: { ...base.domain, chainId: base.chainId, verifyingContract: base.asset },
    types: {
      ReceiveWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'ReceiveWithAuthorization',
    message,
  })
  return {
    amount: amount.toString(),
    authorization: {
      erc3009Authorization: {
        validAfter: '0',
        validBefore: validBeforeSeconds.toString(),
        salt,
        signature,
      },
    },
  }
}

/** The header of a payment by channel. */
export function channelPayment(
  amount: bigint,
  { payTo, authorizer }: { readonly payTo: string; readonly authorizer: Address },
  payload: Readonly<Record<string, unknown>>,
): string {
  const accepted = {
    scheme: 'batch-settlement',
    network: base.network,
    asset: base.asset,
    amount: amount.toString(),
    payTo,
    maxTimeoutSeconds: 120,
    extra: {
      ...base.domain,
      receiverAuthorizer: authorizer,
      withdrawDelay: WITHDRAW_DELAY_SECONDS,
    },
  }
  // As clients echo it from a quote.
  const extensions = { 'answer-access': { info: { secret: newSecret() } } }
  const payment = { x402Version: 2, accepted, payload, extensions }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}
