import type { Address, Hex } from 'viem'
import { encodeAbiParameters, keccak256, stringToBytes } from 'viem'
import type { Authorization } from '../evm/exact-payload.ts'

/** Immutable terms of a channel; its id is the hash of them. */
export type ChannelConfig = {
  readonly payer: Address
  /** Signs vouchers. */
  readonly payerAuthorizer: Address
  readonly receiver: Address
  /** Signs claims and refunds. */
  readonly receiverAuthorizer: Address
  readonly token: Address
  /** Seconds from the request of a withdrawal to the withdrawal. */
  readonly withdrawDelay: number
  readonly salt: Hex
}

/** State on chain; amounts in USDC atoms. */
export type ChannelState = {
  /** Deposited and not refunded; includes what was claimed. */
  readonly balance: bigint
  readonly claimed: bigint
  /** Unix time; 0 without a withdrawal request. */
  readonly withdrawRequestedAtSeconds: number
  readonly refundNonce: bigint
}

/** Promises a total amount to the receiver. */
export type Voucher = {
  readonly channelId: Hex
  readonly cumulative: bigint
  readonly signature: Hex
}

/** One entry of a claim: the newest voucher of a channel. */
export type ChannelClaim = {
  readonly config: ChannelConfig
  readonly voucher: Voucher
  /** Total claimed after this claim. */
  readonly total: bigint
}

/** Equal on every chain (constants of x402). */
export const CHANNEL_CONTRACT: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003'
export const DEPOSIT_COLLECTOR: Address = '0x4020806089470a89826cB9fB1f4059150b550004'
/** Limits of the contract. */
export const WITHDRAW_DELAY_SECONDS_MIN = 900
export const WITHDRAW_DELAY_SECONDS_MAX = 2_592_000

const WORD_DIGITS = 64
const typeHash = (type: string) => keccak256(stringToBytes(type))
const CONFIG_TYPE = typeHash(
  'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)',
)
const VOUCHER_TYPE = typeHash('Voucher(bytes32 channelId,uint128 maxClaimableAmount)')
const REFUND_TYPE = typeHash('Refund(bytes32 channelId,uint256 nonce,uint128 amount)')
const ENTRY =
  'ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)' as const
const ENTRY_TYPE = typeHash(ENTRY)
const BATCH_TYPE = typeHash(`ClaimBatch(ClaimEntry[] claims)${ENTRY}`)
const RECEIVE_TYPE = typeHash(
  'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

/** EIP-712 digests of the channel contract on one chain. */
export class ChannelDigests {
  readonly #separator: Hex

  constructor(chainId: number) {
    this.#separator = keccak256(
      encodeAbiParameters(
        [
          { type: 'bytes32' },
          { type: 'bytes32' },
          { type: 'bytes32' },
          { type: 'uint256' },
          { type: 'address' },
        ],
        [
          typeHash(
            'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
          ),
          typeHash('x402 Batch Settlement'),
          typeHash('1'),
          BigInt(chainId),
          CHANNEL_CONTRACT,
        ],
      ),
    )
  }

  /** In lower case. */
  channelId(config: ChannelConfig): Hex {
    const { payer, payerAuthorizer, receiver, receiverAuthorizer, token } = config
    return this.#typed(
      CONFIG_TYPE,
      ...[payer, payerAuthorizer, receiver, receiverAuthorizer, token],
      BigInt(config.withdrawDelay),
      config.salt,
    )
  }

  voucher(channelId: Hex, cumulative: bigint): Hex {
    return this.#typed(VOUCHER_TYPE, channelId, cumulative)
  }

  refund(channelId: Hex, nonce: bigint, amount: bigint): Hex {
    return this.#typed(REFUND_TYPE, channelId, nonce, amount)
  }

  claimBatch(claims: readonly ChannelClaim[]): Hex {
    const entries = claims.map(({ voucher: { channelId, cumulative }, total }) =>
      keccak256(words(ENTRY_TYPE, channelId, cumulative, total)),
    )
    return this.#typed(BATCH_TYPE, keccak256(words(...entries)))
  }

  #typed(...values: readonly (Hex | bigint)[]): Hex {
    return signed(this.#separator, keccak256(words(...values)))
  }
}

/** EIP-3009 digest by which the payer authorizes the collector to fetch a deposit. */
export function depositDigest(tokenSeparator: Hex, deposit: Omit<Authorization, 'to'>): Hex {
  const { from, value, validAfter, validBefore, nonce } = deposit
  return signed(
    tokenSeparator,
    keccak256(words(RECEIVE_TYPE, from, DEPOSIT_COLLECTOR, value, validAfter, validBefore, nonce)),
  )
}

/** The collector derives the nonce of a deposit from the channel, so that a deposit reaches no other channel. */
export function depositNonce(channelId: Hex, salt: Hex): Hex {
  return keccak256(words(channelId, salt))
}

function signed(separator: Hex, structHash: Hex): Hex {
  return keccak256(`0x1901${separator.slice(2)}${structHash.slice(2)}`)
}

/** Concatenated 32-byte words. */
function words(...values: readonly (Hex | bigint)[]): Hex {
  const digits = values.map((value) =>
    (typeof value === 'bigint' ? value.toString(16) : value.slice(2)).padStart(WORD_DIGITS, '0'),
  )
  return `0x${digits.join('').toLowerCase()}`
}
