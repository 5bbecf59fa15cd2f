import type { Hex } from 'viem'
import { isAddressEqual, zeroAddress } from 'viem'
import { domainSeparator } from '../evm/authorization-digest.ts'
import type { PaymentNetwork } from '../evm/networks.ts'
import { signerOf } from '../evm/signer.ts'
import type { Requirement } from '../payment.ts'
import { SETTLE_MARGIN_SECONDS } from '../payment.ts'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import type { ChannelDigests } from './channel.ts'
import { depositDigest, depositNonce } from './channel.ts'
import type { ChannelPayload, Deposit } from './channel-payload.ts'
import type { Channel } from './channel-store.ts'
import { continues } from './channel-store.ts'

/** Tolerated lead of a buyer's clock. */
const SKEW_SECONDS_MAX = 5
/** Bounds how long an answer is stored. */
const LIFETIME_SECONDS_MAX = 86_400
const READ_AGAIN = 'Open a channel with exactly the terms of this response.'

export const CUMULATIVE_MISMATCH = 'invalid_batch_settlement_evm_cumulative_amount_mismatch'

/** The channel must have our receiver, token, authorizer and withdrawal delay. */
export function checkConfig(
  { config, voucher }: ChannelPayload,
  { wire }: Requirement,
  digests: ChannelDigests,
): Rejection | null {
  const extra = wire.extra as {
    readonly receiverAuthorizer: string
    readonly withdrawDelay: number
  }
  const members = [
    ['receiver', 'receiver_mismatch', wire.payTo],
    ['token', 'token_mismatch', wire.asset],
    ['receiverAuthorizer', 'receiver_authorizer_mismatch', extra.receiverAuthorizer],
    ['withdrawDelay', 'withdraw_delay_mismatch', extra.withdrawDelay],
  ] as const
  for (const [name, reason, expected] of members) {
    if (String(config[name]).toLowerCase() === String(expected).toLowerCase()) continue
    return rejected(
      reason,
      READ_AGAIN,
      `channelConfig.${name}`,
      String(expected),
      String(config[name]),
    )
  }
  if (isAddressEqual(config.payerAuthorizer, zeroAddress)) {
    return rejected(
      'voucher_signature',
      'Vouchers of contract wallets are not accepted. Set payerAuthorizer to the address of a key.',
      'channelConfig.payerAuthorizer',
      'the address of a key',
      config.payerAuthorizer,
    )
  }
  const id = digests.channelId(config)
  return id === voucher.channelId
    ? null
    : rejected(
        'channel_id_mismatch',
        'Set channelId to the EIP-712 hash of the channel config.',
        'voucher.channelId',
        id,
        voucher.channelId,
      )
}

/** Checks the signature of the voucher under the restrictions of the channel contract. */
export function checkVoucherSignature(
  { config, voucher }: ChannelPayload,
  digests: ChannelDigests,
): Rejection | null {
  const digest = digests.voucher(voucher.channelId, voucher.cumulative)
  const signer = signerOf(bytes(digest), voucher.signature)
  return signer === config.payerAuthorizer.toLowerCase()
    ? null
    : rejected(
        'voucher_signature',
        'Sign the voucher with the key of payerAuthorizer in the EIP-712 domain of the channel contract.',
        'channelConfig.payerAuthorizer',
        config.payerAuthorizer,
        signer ?? 'not a canonical ECDSA signature (low s, v of 27 or 28)',
      )
}

/** Checks that the deposit can still be collected and that its payer signed it. */
export function checkDeposit(
  { config, voucher }: ChannelPayload,
  { amount, validAfter, validBefore, salt, signature }: Deposit,
  network: PaymentNetwork,
  nowMs: number,
): Rejection | null {
  const nowSeconds = BigInt(Math.floor(nowMs / 1_000))
  const earliest = nowSeconds + BigInt(SETTLE_MARGIN_SECONDS)
  const latest = nowSeconds + BigInt(LIFETIME_SECONDS_MAX)
  if (validBefore < earliest || validBefore > latest) {
    return rejected(
      'payload_authorization_valid_before',
      'Sign a deposit that expires within this range.',
      'deposit.authorization.erc3009Authorization.validBefore',
      `${earliest} to ${latest}`,
      validBefore.toString(),
    )
  }
  if (validAfter > nowSeconds + BigInt(SKEW_SECONDS_MAX)) {
    return rejected(
      'payload_authorization_valid_after',
      'The deposit is not valid yet. Set validAfter some minutes in the past.',
      'deposit.authorization.erc3009Authorization.validAfter',
      `at most ${nowSeconds + BigInt(SKEW_SECONDS_MAX)}`,
      validAfter.toString(),
    )
  }
  const nonce = depositNonce(voucher.channelId, salt)
  const digest = depositDigest(domainSeparator(network), {
    from: config.payer,
    value: amount,
    validAfter,
    validBefore,
    nonce,
  })
  const signer = signerOf(bytes(digest), signature)
  return signer === config.payer.toLowerCase()
    ? null
    : rejected(
        'receive_authorization_signature',
        'Sign ReceiveWithAuthorization to the deposit collector with the key of the payer.',
        'channelConfig.payer',
        config.payer,
        signer ?? 'not a canonical ECDSA signature (low s, v of 27 or 28)',
      )
}

/** The voucher must continue the charged total exactly. */
export function checkCumulative(
  payload: ChannelPayload,
  channel: Channel | null,
  { method, amount: price }: Requirement,
): Rejection | null {
  const { kind, voucher } = payload
  const { cumulative } = voucher
  const amount = kind === 'refund' ? 0n : price
  if (channel === null) {
    if (kind !== 'deposit') {
      return rejected(
        'channel_not_found',
        'The channel has no deposit. Send a deposit with the voucher.',
        'voucher.channelId',
        'a channel with a deposit',
        voucher.channelId,
      )
    }
    return cumulative === amount ? null : mismatch(amount, cumulative)
  }
  if (continues(channel, { cumulative, amount })) return null
  const { scheme, network } = method
  // Claims publish vouchers up to the claimed total, so that anybody can send those. The newest one allows a refund.
  const isPublic = channel.claimed > 0n && cumulative <= channel.claimed
  return {
    ...mismatch(channel.charged + amount, cumulative),
    ...(channel.signature === null || isPublic
      ? {}
      : { correction: { scheme, network, extra: correctionOf(channel, channel.signature) } }),
  }
}

/** State of a channel as x402 sends it to its payer. */
export function channelStateWire(channel: Channel, charged: bigint) {
  return {
    channelId: channel.id,
    balance: channel.balance.toString(),
    totalClaimed: channel.claimed.toString(),
    withdrawRequestedAt: channel.withdrawRequestedAtSeconds,
    refundNonce: channel.refundNonce.toString(),
    chargedCumulativeAmount: charged.toString(),
  }
}

/** The client verifies the total by its own signature. */
function correctionOf(channel: Channel, signature: Hex) {
  return {
    channelState: channelStateWire(channel, channel.charged),
    voucherState: { signedMaxClaimable: channel.charged.toString(), signature },
  }
}

function mismatch(expected: bigint, received: bigint): Rejection {
  return rejected(
    'cumulative_amount_mismatch',
    'Sign a voucher for the total charged so far plus the price.',
    'voucher.maxClaimableAmount',
    expected.toString(),
    received.toString(),
  )
}

function rejected(
  reason: string,
  hint: string,
  field: string,
  expected: string,
  received: string,
): Rejection {
  return rejection(`invalid_batch_settlement_evm_${reason}`, hint, { field, expected, received })
}

function bytes(digest: Hex): Uint8Array {
  return Buffer.from(digest.slice(2), 'hex')
}
