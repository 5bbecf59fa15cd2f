/** Decimals of USDC on all supported chains; money is counted in atomic units. */
const USDC_DECIMALS = 6

/** `25000n` → `"0.025"`: exact, without trailing zeros. */
export function usdcDecimal(atomic: bigint): string {
  const digits = atomic.toString().padStart(USDC_DECIMALS + 1, '0')
  const whole = digits.slice(0, -USDC_DECIMALS)
  const fraction = digits.slice(-USDC_DECIMALS).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
