import type { BookOptions } from '../config/ledger.ts'
import type { CostLine, ReportLine } from '../payment/ledger/ledger-books.ts'
import { feeDecimal, feeInUsdc, feeUnit, usdc } from './network-money.ts'

/**
 * Settled sums, fees and net sums by network.
 * @param lines by network
 */
export function netOf(
  lines: readonly ReportLine[],
  costs: readonly CostLine[],
  { ethUsd, solUsd }: Pick<BookOptions, 'ethUsd' | 'solUsd'>,
) {
  const settled = lines.filter(({ state }) => state === 'settled')
  const networks = new Set([...settled.map(({ of }) => of.network ?? ''), ...costs.map(networkOf)])
  return [...networks].sort().map((network) => {
    const line = settled.find(({ of }) => of.network === network)
    const amount = line?.amount ?? 0n
    const fees = costs
      .filter((cost) => cost.network === network)
      .reduce((sum, { fee }) => sum + fee, 0n)
    const unit = feeUnit(network)
    const price = unit === 'SOL' ? solUsd : ethUsd
    return {
      ...{ network, settled_usdc: usdc(amount), fees: feeDecimal(network, fees), unit },
      unknown_fees: line?.unknownFees ?? 0,
      net_usdc: price === undefined ? null : usdc(amount - feeInUsdc(network, fees, price)),
    }
  })
}

function networkOf({ network }: CostLine): string {
  return network
}
