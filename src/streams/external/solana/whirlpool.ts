import { getAddressDecoder } from '@solana/addresses'
import type { SolanaAccount } from './account.ts'
import { WHIRLPOOL_PROGRAM } from './whirlpool-pairs.ts'

/** A pool of Orca. In all pairs token A is the asset and token B the quote. */
export type Whirlpool = {
  readonly tickSpacing: number
  /** Hundredths of a basis point. */
  readonly feeRate: number
  readonly liquidity: bigint
  /** Square root of the price of A in B, both in smallest units, times 2^64. */
  readonly sqrtPriceX64: bigint
  readonly mintA: string
  readonly mintB: string
  readonly vaultB: string
}

/** The first eight bytes of the SHA-256 of `account:Whirlpool`, by the convention of Anchor. */
const DISCRIMINATOR = Buffer.from('3f95d10ce1806309', 'hex')
const BYTES = 653
/** Bounds of the program. */
const SQRT_PRICE_X64_MIN = 4_295_048_016n
const SQRT_PRICE_X64_MAX = 79_226_673_515_401_279_992_447_579_055n
/** The tick is the integer part of log 1.0001 of the price; at a boundary it may differ by one. */
const TICK_OFF_MAX = 2

const addresses = getAddressDecoder()

/** @returns null for an account that is no pool or whose tick contradicts its price */
export function readWhirlpool(account: SolanaAccount | null): Whirlpool | null {
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

/** Price of one unit of token A in units of token B. */
export function whirlpoolPrice(
  { sqrtPriceX64 }: Whirlpool,
  decimalsA: number,
  decimalsB: number,
): number {
  return (Number(sqrtPriceX64) / 2 ** 64) ** 2 * 10 ** (decimalsA - decimalsB)
}

/**
 * Reserve of token B, in units, of a constant-product pool with the same depth at this price: L times the
 * square root of the price (Uniswap v3 whitepaper, section 6.2).
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
