import { createHash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { getAddress } from 'viem'
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
        amount: amount === undefined ? null : uint(amount, 128, 'payload.amount'),
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
  const field = (name: string) => address(raw[name], `payload.channelConfig.${name}`)
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
    salt: hex(raw['salt'], 32, 'payload.channelConfig.salt'),
  }
}

function decodeVoucher(raw: Readonly<Record<string, unknown>>): Voucher {
  return {
    channelId: hex(raw['channelId'], 32, 'payload.voucher.channelId'),
    cumulative: uint(raw['maxClaimableAmount'], 128, 'payload.voucher.maxClaimableAmount'),
    signature: hex(raw['signature'], 65, 'payload.voucher.signature'),
  }
}

function decodeDeposit(raw: Readonly<Record<string, unknown>>): Deposit {
  const path = 'payload.deposit.authorization.erc3009Authorization'
  const authorization = requireRecord(raw['authorization'], 'payload.deposit.authorization')
  const signed = requireRecord(authorization['erc3009Authorization'], path)
  return {
    amount: uint(raw['amount'], 128, 'payload.deposit.amount'),
    validAfter: uint(signed['validAfter'], 256, `${path}.validAfter`),
    validBefore: uint(signed['validBefore'], 256, `${path}.validBefore`),
    salt: hex(signed['salt'], 32, `${path}.salt`),
    signature: hex(signed['signature'], 65, `${path}.signature`),
  }
}

function address(value: unknown, name: string): Address {
  return getAddress(hex(value, 20, name))
}

function uint(value: unknown, bits: number, name: string): bigint {
  const digits = requireText(value, name)
  if (!/^\d{1,78}$/.test(digits)) {
    throw new MalformedPayment(`${name} must be a decimal number in a string`)
  }
  const number = BigInt(digits)
  if (number >= 2n ** BigInt(bits)) throw new MalformedPayment(`${name} must fit ${bits} bits`)
  return number
}

/** Lower case, so that equal values are equal strings. */
function hex(value: unknown, bytes: number, name: string): Hex {
  const digits = requireText(value, name)
  if (!/^0x[0-9a-f]*$/i.test(digits) || digits.length !== 2 + 2 * bytes) {
    throw new MalformedPayment(`${name} must be ${bytes} bytes in hexadecimal`)
  }
  return `0x${digits.slice(2).toLowerCase()}`
}
