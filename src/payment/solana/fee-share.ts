/** Above every price that SOL has had (295 USD, January 2025). */
export const SOL_USD_MAX = 500

/** The fee payer and the payer: each further signature costs us 5,000 lamports. */
export const SIGNERS_MAX = 2
export const LAMPORTS_PER_SIGNATURE = 5_000n
const LAMPORTS_PER_SOL = 1e9
const ATOMS_PER_USD = 1e6
/** Of the price, what one payment may make us pay: the fees of two signatures, and its priority. */
const FEE_SHARE_MAX = 0.1
/** The fees of signatures alone are more than that on small sales: the SDK's clients ask for 0.02 lamports then. */
const PRIORITY_FEE_LAMPORTS_FLOOR = 1n

/** What a payment may add to the fees of its signatures, lamports. @param amount the price, USDC atoms */
export function priorityFeeMax(amount: bigint, solUsdMax: number): bigint {
  const priceLamports = (Number(amount) / ATOMS_PER_USD / solUsdMax) * LAMPORTS_PER_SOL
  const left =
    BigInt(Math.floor(priceLamports * FEE_SHARE_MAX)) - BigInt(SIGNERS_MAX) * LAMPORTS_PER_SIGNATURE
  return left > PRIORITY_FEE_LAMPORTS_FLOOR ? left : PRIORITY_FEE_LAMPORTS_FLOOR
}
