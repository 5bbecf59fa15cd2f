import type { Registry } from 'prom-client'
import type { Clock } from '../../domain/clock.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { pathOf } from '../../domain/contract.ts'
import type { GasFigures, MoneyReport, SalesFigures } from '../../domain/desk-reports.ts'
import type { Channel } from '../../payment/channels/channel-store.ts'
import type { Ledger } from '../../payment/ledger/ledger.ts'
import type { SalesSummary } from '../../payment/ledger/sales-summary.ts'
import { channelFigures } from './channel-figures.ts'
import { metricValue } from './metric-value.ts'
import type { RequestStatistics } from './request-statistics.ts'
import { reusedFor } from './reused.ts'
import type { SalesCounts } from './sales-counts.ts'

export type MoneySources = {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly contracts: readonly AnalysisContract[]
  readonly ledger: Pick<Ledger, 'summary'>
  readonly counts: SalesCounts
  readonly requests: RequestStatistics
  readonly metrics: Registry
  /** null if payment channels are off. */
  readonly channels: (() => Promise<readonly Channel[]>) | null
}

const PERIOD_MS = 9_500
/** Today in UTC is the last of them. */
const WINDOW_DAYS = 7
const DAY_MS = 86_400_000

const GAS_METRICS = [
  { coin: 'ETH', left: 'perpscope_gas_balance_ether', spent: 'perpscope_gas_spent_ether_total' },
  { coin: 'SOL', left: 'perpscope_fee_balance_sol', spent: 'perpscope_fee_spent_sol_total' },
] as const

/** Composes the report when it is asked for; readers within ten seconds share one. */
export function moneyReports(sources: MoneySources): () => Promise<MoneyReport> {
  const { clock, ledger } = sources
  return reusedFor(PERIOD_MS, clock, async () => {
    const nowMs = clock.nowMs()
    const sinceMs = Math.floor(nowMs / DAY_MS) * DAY_MS - (WINDOW_DAYS - 1) * DAY_MS
    const summary = await ledger.summary(sinceMs, nowMs)
    return { nowMs, reason: null, sales: await salesFigures(sources, sinceMs, summary) }
  })
}

/** The report of a process that sells nothing. */
export function withoutSales(
  clock: Pick<Clock, 'nowMs'>,
  reason: string,
): () => Promise<MoneyReport> {
  return async () => ({ nowMs: clock.nowMs(), sales: null, reason })
}

async function salesFigures(
  { contracts, counts, requests, metrics, channels }: MoneySources,
  sinceMs: number,
  { sold, open, buyers, largest }: SalesSummary,
): Promise<SalesFigures> {
  return {
    sinceMs,
    earnings: sold.map(inText),
    funnel: contracts.map((contract) => {
      const route = pathOf(contract, ':coin')
      return {
        analysis: contract.id,
        route,
        requests: requests.totalOf(route),
        quotes: counts.quotesOf(route),
        sales: counts.salesOf(route),
      }
    }),
    refusals: counts.refusals(),
    unsettled: open.map(inText),
    gas: await gasFigures(metrics),
    buyers: { count: buyers, largest: largest.map(inText) },
    channels: channels === null ? null : channelFigures(await channels()),
  }
}

async function gasFigures(metrics: Registry): Promise<readonly GasFigures[]> {
  const figures: GasFigures[] = []
  for (const { coin, left, spent } of GAS_METRICS) {
    const spentValue = await metricValue(metrics, spent)
    if (spentValue === null) continue
    figures.push({ coin, left: await metricValue(metrics, left), spent: spentValue })
  }
  return figures
}

/** JSON has no integers of this size. */
function inText<Line extends { readonly amount: bigint }>({
  amount,
  ...line
}: Line): Omit<Line, 'amount'> & { readonly amountAtomic: string } {
  return { ...line, amountAtomic: amount.toString() }
}
