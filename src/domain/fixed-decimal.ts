/** Exact, with all decimals: `fixedDecimal(25000n, 6)` is `0.025000`. */
export function fixedDecimal(atomic: bigint, decimals: number): string {
  const digits = (atomic < 0n ? -atomic : atomic).toString().padStart(decimals + 1, '0')
  return `${atomic < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
