import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import { decodeAddress, decodeHex, decodeUint } from '../evm/payload-field.ts'
import { MalformedPayment, requireRecord, requireText } from '../payload.ts'
import type { ChannelConfig, Voucher } from './channel.ts'

/** An EIP-3009 authorization of a deposit. Times are Unix seconds. */
export type Deposit = {
  readonly amount: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly salt: Hex
  readonly signature: Hex
}

/** A voucher, with a deposit if the channel needs one. */
export type ChannelPayload = {
  readonly config: ChannelConfig
  readonly voucher: Voucher
} & (
  | { readonly kind: 'voucher' }
  | { readonly kind: 'deposit'; readonly deposit: Deposit }
  /** Buys nothing: refunds `amount`, or the remainder if it is null. */
  | { readonly kind: 'refund'; readonly amount: bigint | null }
)

const UINT40_MAX = 2 ** 40 - 1

/**
 * Decodes a payload of scheme `batch-settlement` on an EVM chain.
 * @throws MalformedPayment
 */
export function decodeChannelPayload(payload: Readonly<Record<string, unknown>>): ChannelPayload {
  const config = decodeConfig(requireRecord(payload['channelConfig'], 'payload.channelConfig'))
  const voucher = decodeVoucher(requireRecord(payload['voucher'], 'payload.voucher'))
  const kind = requireText(payload['type'], 'payload.type')
  switch (kind) {
    case 'voucher':
      return { kind, config, voucher }
    case 'deposit':
      return {
        kind,
        config,
        voucher,
        deposit: decodeDeposit(requireRecord(payload['deposit'], 'payload.deposit')),
      }
    case 'refund': {
      const amount = payload['amount']
      return {
        kind,
        config,
        voucher,
        amount: amount === undefined ? null : decodeUint(amount, 128, 'payload.amount'),
      }
    }
    default:
      throw new MalformedPayment('payload.type must be deposit, voucher or refund')
  }
}

/** The payload in one canonical spelling. */
export function wireOfPayload(payload: ChannelPayload): Record<string, unknown> {
  const { kind, config, voucher } = payload
  const common = {
    type: kind,
    channelConfig: config,
    voucher: {
      channelId: voucher.channelId,
      maxClaimableAmount: voucher.cumulative.toString(),
      signature: voucher.signature,
    },
  }
  if (kind === 'voucher') return common
  if (kind === 'refund') {
    return payload.amount === null ? common : { ...common, amount: payload.amount.toString() }
  }
  const { amount, validAfter, validBefore, salt, signature } = payload.deposit
  return {
    ...common,
    deposit: {
      amount: amount.toString(),
      authorization: {
        erc3009Authorization: {
          validAfter: validAfter.toString(),
          validBefore: validBefore.toString(),
          salt,
          signature,
        },
      },
    },
  }
}

/** Identifies a voucher, independent of its spelling. */
export function channelPayloadHash(network: string, payload: ChannelPayload): string {
  return createHash('sha256')
    .update(JSON.stringify([network, wireOfPayload(payload)]))
    .digest('hex')
}

function decodeConfig(raw: Readonly<Record<string, unknown>>): ChannelConfig {
  const field = (name: string) => decodeAddress(raw[name], `payload.channelConfig.${name}`)
  const delay = raw['withdrawDelay']
  if (typeof delay !== 'number' || !Number.isInteger(delay) || delay < 0 || delay > UINT40_MAX) {
    throw new MalformedPayment('payload.channelConfig.withdrawDelay must be a number of seconds')
  }
  return {
    payer: field('payer'),
    payerAuthorizer: field('payerAuthorizer'),
    receiver: field('receiver'),
    receiverAuthorizer: field('receiverAuthorizer'),
    token: field('token'),
    withdrawDelay: delay,
    salt: decodeHex(raw['salt'], 32, 'payload.channelConfig.salt'),
  }
}

function decodeVoucher(raw: Readonly<Record<string, unknown>>): Voucher {
  return {
    channelId: decodeHex(raw['channelId'], 32, 'payload.voucher.channelId'),
    cumulative: decodeUint(raw['maxClaimableAmount'], 128, 'payload.voucher.maxClaimableAmount'),
    signature: decodeHex(raw['signature'], 65, 'payload.voucher.signature'),
  }
}

function decodeDeposit(raw: Readonly<Record<string, unknown>>): Deposit {
  const path = 'payload.deposit.authorization.erc3009Authorization'
  const authorization = requireRecord(raw['authorization'], 'payload.deposit.authorization')
  const signed = requireRecord(authorization['erc3009Authorization'], path)
  return {
    amount: decodeUint(raw['amount'], 128, 'payload.deposit.amount'),
    validAfter: decodeUint(signed['validAfter'], 256, `${path}.validAfter`),
    validBefore: decodeUint(signed['validBefore'], 256, `${path}.validBefore`),
    salt: decodeHex(signed['salt'], 32, `${path}.salt`),
    signature: decodeHex(signed['signature'], 65, `${path}.signature`),
  }
}
