/** Above the highest price of SOL (295 USD, January 2025). */
export const SOL_USD_MAX = 500

/** Fee payer and payer; each further signature costs 5,000 lamports. */
export const SIGNERS_MAX = 2
export const LAMPORTS_PER_SIGNATURE = 5_000n
const LAMPORTS_PER_SOL = 1e9
const ATOMS_PER_USD = 1e6
/** Highest share of the price for signature and priority fees. */
const FEE_SHARE_MAX = 0.1
/** Signature fees alone exceed the share on small sales; clients of the SDK request 0.02 lamports. */
const PRIORITY_FEE_LAMPORTS_FLOOR = 1n

/**
 * Highest priority fee of a payment, lamports.
 * @param amount the price, USDC atoms
 */
export function priorityFeeMax(amount: bigint, solUsdMax: number): bigint {
  const priceLamports = (Number(amount) / ATOMS_PER_USD / solUsdMax) * LAMPORTS_PER_SOL
  const left =
    BigInt(Math.floor(priceLamports * FEE_SHARE_MAX)) - BigInt(SIGNERS_MAX) * LAMPORTS_PER_SIGNATURE
  return left > PRIORITY_FEE_LAMPORTS_FLOOR ? left : PRIORITY_FEE_LAMPORTS_FLOOR
}
