import type { Address } from '@solana/kit'
import {
  fixEncoderSize,
  getAddressEncoder,
  getBytesEncoder,
  getI32Encoder,
  getI64Encoder,
  getStructEncoder,
  getU8Encoder,
  getU16Encoder,
  getU64Encoder,
  getU128Encoder,
} from '@solana/kit'
import { sha256, stringToBytes } from 'viem'

/** One account of the chain. */
export type StoredAccount = {
  readonly owner: Address
  readonly data: Uint8Array
}

const [u8, u16, u64, u128] = [getU8Encoder(), getU16Encoder(), getU64Encoder(), getU128Encoder()]
const [i32, i64, key] = [getI32Encoder(), getI64Encoder(), getAddressEncoder()]
const bytes = (size: number) => fixEncoderSize(getBytesEncoder(), size)

/** Anchor prefixes every account with it. */
function discriminator(type: string): Uint8Array {
  return sha256(stringToBytes(`account:${type}`), 'bytes').slice(0, 8)
}

/** 653 bytes, without unclaimed fees and rewards. */
const whirlpoolEncoder = getStructEncoder([
  ['discriminator', bytes(8)],
  ['config', key],
  ['bump', u8],
  ['tickSpacing', u16],
  ['tickSpacingSeed', u16],
  ['feeRate', u16],
  ['protocolFeeRate', u16],
  ['liquidity', u128],
  ['sqrtPriceX64', u128],
  ['tick', i32],
  ['protocolFeeOwedA', u64],
  ['protocolFeeOwedB', u64],
  ['mintA', key],
  ['vaultA', key],
  ['feeGrowthA', u128],
  ['mintB', key],
  ['vaultB', key],
  ['feeGrowthB', u128],
  ['rewardsUpdated', u64],
  ['rewards', bytes(3 * 128)],
])

export type WhirlpoolFields = {
  readonly config: Address
  readonly bump: number
  readonly tickSpacing: number
  readonly feeRate: number
  readonly liquidity: bigint
  readonly sqrtPriceX64: bigint
  readonly tick: number
  readonly mintA: Address
  readonly vaultA: Address
  readonly mintB: Address
  readonly vaultB: Address
  readonly rewardsUpdated: number
}

export function whirlpoolData(fields: WhirlpoolFields): Uint8Array {
  const none = { protocolFeeOwedA: 0, protocolFeeOwedB: 0, feeGrowthA: 0, feeGrowthB: 0 }
  return Uint8Array.from(
    whirlpoolEncoder.encode({
      ...fields,
      ...none,
      discriminator: discriminator('Whirlpool'),
      tickSpacingSeed: fields.tickSpacing,
      protocolFeeRate: 1_300,
      rewards: new Uint8Array(3 * 128),
    }),
  )
}

/** 165 bytes: no delegate, no close authority, not frozen. */
const tokenEncoder = getStructEncoder([
  ['mint', key],
  ['owner', key],
  ['amount', u64],
  ['delegate', bytes(36)],
  ['state', u8],
  ['isNative', bytes(12)],
  ['delegatedAmount', u64],
  ['closeAuthority', bytes(36)],
])
const INITIALIZED = 1

export function tokenData(mint: Address, owner: Address, amount: bigint): Uint8Array {
  return Uint8Array.from(
    tokenEncoder.encode({
      ...{ mint, owner, amount, delegatedAmount: 0, state: INITIALIZED },
      delegate: new Uint8Array(36),
      isNative: new Uint8Array(12),
      closeAuthority: new Uint8Array(36),
    }),
  )
}

const clockEncoder = getStructEncoder([
  ['slot', u64],
  ['epochStart', i64],
  ['epoch', u64],
  ['leaderScheduleEpoch', u64],
  ['unixTimestamp', i64],
])
const SLOTS_PER_EPOCH = 432_000

export function clockData(slot: number, unixSeconds: number, slotMs: number): Uint8Array {
  const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
  const sinceStart = Math.floor(((slot % SLOTS_PER_EPOCH) * slotMs) / 1_000)
  return Uint8Array.from(
    clockEncoder.encode({
      ...{ slot, epoch, leaderScheduleEpoch: epoch + 1 },
      epochStart: unixSeconds - sinceStart,
      unixTimestamp: unixSeconds,
    }),
  )
}

/** After the verification level of one or two bytes. */
const priceEncoder = getStructEncoder([
  ['id', bytes(32)],
  ['price', i64],
  ['confidence', u64],
  ['exponent', i32],
  ['publishTime', i64],
  ['publishTimeBefore', i64],
  ['emaPrice', i64],
  ['emaConfidence', u64],
  ['postedSlot', u64],
])
const PRICE_UPDATE_BYTES = 134

export type PriceFields = {
  readonly id: Uint8Array
  readonly price: bigint
  readonly confidence: bigint
  readonly exponent: number
  readonly publishTime: number
  readonly publishTimeBefore: number
  readonly emaPrice: bigint
  readonly emaConfidence: bigint
  readonly postedSlot: number
}

/** @param signatures of a partial verification; `full` takes one byte less */
export function priceUpdateData(
  authority: Address,
  signatures: number | 'full',
  fields: PriceFields,
): Uint8Array {
  const data = new Uint8Array(PRICE_UPDATE_BYTES)
  const level = signatures === 'full' ? [1] : [0, signatures]
  data.set(discriminator('PriceUpdateV2'))
  data.set(key.encode(authority), 8)
  data.set(level, 40)
  data.set(priceEncoder.encode(fields), 40 + level.length)
  return data
}
