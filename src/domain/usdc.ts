/** USDC has six decimals on every chain that we charge on. Money is counted in these atomic units. */
const USDC_DECIMALS = 6

/** `25000n` → `"0.025"`: exact, without trailing zeros. */
export function usdcDecimal(atomic: bigint): string {
  const digits = atomic.toString().padStart(USDC_DECIMALS + 1, '0')
  const whole = digits.slice(0, -USDC_DECIMALS)
  const fraction = digits.slice(-USDC_DECIMALS).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
