import type { Finality } from '../finality.ts'
import type { PaymentState } from './ledger.ts'
import type { TransactionCost } from './transaction-costs.ts'

/** Begin of the first settlement attempt: from `sinceMs` to before `untilMs`. */
export type ReportRange = { readonly sinceMs: number; readonly untilMs: number }

export const reportDimensions = ['day', 'analysis', 'network', 'payer', 'coin'] as const

/** What the lines of a report distinguish, besides the state. */
export type ReportDimension = (typeof reportDimensions)[number]

export const dimensionsByDefault = ['day', 'analysis', 'network'] as const

/** Payments of one state that agree in all chosen dimensions. */
export type ReportLine = {
  /** The day in UTC, such as `2026-01-31`; the coin is '' for an analysis of the whole market. */
  readonly of: Readonly<Partial<Record<ReportDimension, string>>>
  readonly state: PaymentState
  readonly payments: number
  /** USDC atoms. */
  readonly amount: bigint
  /** Sum of the known shares in the fees of their transactions, each rounded down; wei or lamports. */
  readonly fee: bigint
  /** Settled payments whose fee is unknown: a facilitator settled them, or an earlier version did. */
  readonly unknownFees: number
}

/** Fees of the transactions of one UTC day that this service sent; wei or lamports. */
export type CostLine = Pick<TransactionCost, 'network' | 'purpose' | 'fee'> & {
  readonly day: string
  readonly transactions: number
}

export type ReportedPayment = {
  readonly begunMs: number
  /** null while it is not settled. */
  readonly settledMs: number | null
  readonly validBeforeMs: number
  readonly analysis: string
  /** '' for an analysis of the whole market. */
  readonly coin: string
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  /** USDC atoms. */
  readonly amount: bigint
  /** `confirmed` also if no answer was sent before the outcome was known. */
  readonly finality: Finality
  readonly state: PaymentState
  readonly transaction: string | null
  /** Its share in the fee of its transaction, rounded down; null if unknown. */
  readonly fee: bigint | null
  /** Until when its answer is stored; null if it is not. */
  readonly answerUntilMs: number | null
  /** Whether its answer is known to have arrived. */
  readonly isDelivered: boolean
}

/** A report of either store. */
export interface LedgerBooks {
  /** By the first `by`, then the next, then the state. */
  lines(
    range: ReportRange,
    by?: readonly ReportDimension[],
  ): Promise<readonly ReportLine[]> | readonly ReportLine[]
  costs(range: ReportRange): Promise<readonly CostLine[]> | readonly CostLine[]
  /** In the order of their begin. Iterates, because a year of payments may not fit into memory. */
  payments(range: ReportRange): AsyncIterable<ReportedPayment> | Iterable<ReportedPayment>
}

/** Columns by which a store groups. The coin is inside the binding, so its lines are merged afterwards. */
export const groupColumns = {
  analysis: 'route',
  network: 'p.network',
  payer: 'payer',
  coin: 'binding',
} as const

/** A line as a store reads it, with the values of {@link groupColumns}. */
export type GroupedRow = Omit<ReportLine, 'of'> & { readonly values: readonly string[] }

/** Merges lines that agree after the analysis and the coin were read from their columns. */
export function mergedLines(
  rows: Iterable<GroupedRow>,
  by: readonly ReportDimension[],
): readonly ReportLine[] {
  const merged = new Map<string, ReportLine>()
  for (const { values, ...row } of rows) {
    const named = by.map((name, index) => shownAs(name, values[index] as string))
    const key = JSON.stringify([...named, row.state])
    const before = merged.get(key)
    const of = Object.fromEntries(by.map((name, index) => [name, named[index]]))
    merged.set(key, {
      ...{ of, state: row.state },
      payments: row.payments + (before?.payments ?? 0),
      amount: row.amount + (before?.amount ?? 0n),
      fee: row.fee + (before?.fee ?? 0n),
      unknownFees: row.unknownFees + (before?.unknownFees ?? 0),
    })
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line)
}

function shownAs(dimension: ReportDimension, value: string): string {
  if (dimension === 'analysis') return analysisOf(value)
  return dimension === 'coin' ? coinOf(value) : value
}

/** The analysis of a route, such as `pulse` of `/pulse/:coin`. */
function analysisOf(route: string): string {
  return route.split('/')[1] ?? route
}

/** The coin of a purchased call, of which `documentNames` in the gateway wrote the third member; '' without one. */
function coinOf(binding: string): string {
  try {
    const name: unknown = JSON.parse(String((JSON.parse(binding) as unknown[])[2]))
    const coin: unknown = Array.isArray(name) ? name[1] : ''
    return typeof coin === 'string' ? coin : ''
  } catch {
    return ''
  }
}

/** Whether a payment is a voucher of a channel, which has no transfer of its own. */
export function isVoucher({ nonce }: Pick<ReportedPayment, 'nonce'>): boolean {
  return nonce.includes(':')
}

/** Columns of a payment as both stores select them. */
export type PaymentRow = Pick<
  ReportedPayment,
  'network' | 'asset' | 'payer' | 'nonce' | 'amount' | 'finality' | 'state' | 'transaction' | 'fee'
> & {
  readonly route: string
  readonly binding: string
  readonly begunMs: bigint
  readonly updatedMs: bigint
  readonly validBeforeMs: bigint
  readonly answerUntilMs: bigint | null
  /** 0 once the answer has arrived. */
  readonly callerUntilMs: bigint
}

export function reportedPayment(row: PaymentRow): ReportedPayment {
  const { route, binding, updatedMs, callerUntilMs, ...facts } = row
  return {
    ...facts,
    begunMs: Number(row.begunMs),
    settledMs: row.state === 'settled' ? Number(updatedMs) : null,
    validBeforeMs: Number(row.validBeforeMs),
    analysis: analysisOf(route),
    coin: coinOf(binding),
    isDelivered: callerUntilMs === 0n,
    answerUntilMs: row.answerUntilMs === null ? null : Number(row.answerUntilMs),
  }
}
