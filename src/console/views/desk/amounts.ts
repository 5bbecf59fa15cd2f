import { NOTHING } from '../../components/format.ts'

const sizes = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 })

/** `12.4 MB`; `–` if it is unknown. */
export function bytes(value: number | null): string {
  if (value === null) return NOTHING
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const at = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  return `${sizes.format(value / 1_000 ** at)} ${units[at]}`
}

/** @param atomic millionths of a USDC as decimal text */
export function usdc(atomic: string | bigint): string {
  return money.format(Number(atomic) / 1e6)
}

export function sumOf(amounts: readonly { readonly amountAtomic: string }[]): bigint {
  return amounts.reduce((sum, { amountAtomic }) => sum + BigInt(amountAtomic), 0n)
}

/** `0x12ab…cd34`; a short name stays. */
export function shortened(address: string): string {
  return address.length <= 14 ? address : `${address.slice(0, 6)}…${address.slice(-4)}`
}
