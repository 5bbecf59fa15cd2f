import { getAddressDecoder } from '@solana/kit'
import type { Account } from './account.ts'
import { WHIRLPOOL_PROGRAM } from './whirlpool-pairs.ts'

/** A pool of Orca, whose token A is the asset of our pairs and token B their quote. */
export type Whirlpool = {
  readonly tickSpacing: number
  /** Hundredths of a basis point. */
  readonly feeRate: number
  readonly liquidity: bigint
  /** Root of the price of the smallest unit of A in that of B, times 2^64. */
  readonly sqrtPriceX64: bigint
  readonly mintA: string
  readonly mintB: string
  readonly vaultB: string
}

/** As Anchor marks its accounts: the first eight bytes of the SHA-256 of `account:Whirlpool`. */
const DISCRIMINATOR = Buffer.from('3f95d10ce1806309', 'hex')
const BYTES = 653
/** The lowest and the highest price that a pool can have. */
const SQRT_PRICE_X64_MIN = 4_295_048_016n
const SQRT_PRICE_X64_MAX = 79_226_673_515_401_279_992_447_579_055n
/** The tick is the whole part of the price's logarithm to the base 1.0001, and one off on its boundary. */
const TICK_OFF_MAX = 2

const addresses = getAddressDecoder()

/** @returns null for what is no pool, or contradicts itself */
export function readWhirlpool(account: Account | null): Whirlpool | null {
  if (account === null || account.owner !== WHIRLPOOL_PROGRAM) return null
  const { data } = account
  if (data.length !== BYTES || !data.subarray(0, DISCRIMINATOR.length).equals(DISCRIMINATOR))
    return null
  const sqrtPriceX64 = readUInt128(data, 65)
  if (sqrtPriceX64 < SQRT_PRICE_X64_MIN || sqrtPriceX64 > SQRT_PRICE_X64_MAX) return null
  if (!isTickOf(data.readInt32LE(81), sqrtPriceX64)) return null
  return {
    tickSpacing: data.readUInt16LE(41),
    feeRate: data.readUInt16LE(45),
    liquidity: readUInt128(data, 49),
    sqrtPriceX64,
    mintA: addresses.decode(data, 101),
    mintB: addresses.decode(data, 181),
    vaultB: addresses.decode(data, 213),
  }
}

/** What one whole unit of token A costs in whole units of token B. */
export function whirlpoolPrice(
  { sqrtPriceX64 }: Whirlpool,
  decimalsA: number,
  decimalsB: number,
): number {
  return (Number(sqrtPriceX64) / 2 ** 64) ** 2 * 10 ** (decimalsA - decimalsB)
}

/**
 * Whole units of token B that a constant-product pool would hold which is as deep at this price: for
 * concentrated liquidity L, L times the root of the price (Uniswap v3 white paper, 6.2).
 */
export function whirlpoolReserveB(
  { liquidity, sqrtPriceX64 }: Whirlpool,
  decimalsB: number,
): number {
  return (Number(liquidity) * (Number(sqrtPriceX64) / 2 ** 64)) / 10 ** decimalsB
}

function isTickOf(tick: number, sqrtPriceX64: bigint): boolean {
  const logarithm = (2 * Math.log(Number(sqrtPriceX64) / 2 ** 64)) / Math.log(1.0001)
  return Math.abs(logarithm - tick) <= TICK_OFF_MAX
}

function readUInt128(data: Buffer, at: number): bigint {
  return data.readBigUInt64LE(at) + (data.readBigUInt64LE(at + 8) << 64n)
}
