import Table from 'cli-table3'
import { usdcDecimal } from '../../domain/usdc.ts'
import type { DemoPurchase, DemoPurchases } from './purchases.ts'

const NETWORK_CHARS_MAX = 12

/** Payments from buyer to seller on one chain, and the balances after them. */
type Account = {
  readonly network: string
  readonly paid_usdc: number
  readonly received_usdc: number
  readonly buyer_usdc: number
  readonly seller_usdc: number
}

export type Report = {
  readonly ok: boolean
  readonly purchases: readonly DemoPurchase[]
  readonly accounts: readonly Account[]
  readonly paid_usdc: number
  readonly received_usdc: number
  readonly elapsed_ms: number
}

export function reportOf(bought: DemoPurchases, elapsedMs: number): Report {
  const { ok, purchases, transfers } = bought
  return {
    ok,
    purchases,
    accounts: transfers.map(({ network, paidAtomic, receivedAtomic, after }) => ({
      network,
      paid_usdc: usdcNumber(paidAtomic),
      received_usdc: usdcNumber(receivedAtomic),
      buyer_usdc: usdcNumber(after.buyer),
      seller_usdc: usdcNumber(after.seller),
    })),
    paid_usdc: usdcNumber(sum(transfers.map(({ paidAtomic }) => paidAtomic))),
    received_usdc: usdcNumber(sum(transfers.map(({ receivedAtomic }) => receivedAtomic))),
    elapsed_ms: elapsedMs,
  }
}

function usdcNumber(atomic: bigint): number {
  return Number(usdcDecimal(atomic))
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

export function rendered(report: Report): string {
  const purchases = tableOf(['analysis', 'path', 'network'], ['USDC', 'status', 'ms', 'bytes'])
  for (const purchase of report.purchases)
    purchases.push(Object.values({ ...purchase, network: shortened(purchase.network) }))
  const accounts = tableOf(['network'], ['paid', 'received', 'buyer has', 'seller has'])
  for (const account of report.accounts) accounts.push(Object.values(account))
  const verdict = report.ok
    ? `${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
    : `NOT OK: ${report.paid_usdc} USDC paid, ${report.received_usdc} USDC received on chain`
  const elapsed = `${(report.elapsed_ms / 1000).toFixed(1)} s in all`
  return `${purchases.toString()}\n${accounts.toString()}\n${verdict}, ${elapsed}\n`
}

/** The network identifier of Solana has 39 characters, too long for this table. */
function shortened(network: string): string {
  return network.length <= NETWORK_CHARS_MAX ? network : `${network.slice(0, NETWORK_CHARS_MAX)}…`
}

/** @param numbers stand to the right */
function tableOf(texts: readonly string[], numbers: readonly string[]) {
  return new Table({
    style: { head: [], border: [], compact: true },
    head: [...texts, ...numbers],
    colAligns: [...texts.map(() => 'left' as const), ...numbers.map(() => 'right' as const)],
  })
}
