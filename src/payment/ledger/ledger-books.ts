import type { Finality } from '../finality.ts'
import type { PaymentState } from './ledger.ts'
import type { SqlQuery } from './postgres.ts'
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

/** What the SQL of the two stores does not share. */
type Dialect = {
  /** The UTC day of a time in milliseconds. */
  readonly day: (column: string) => string
  /** Rounded down. */
  readonly quotient: (dividend: string, divisor: string) => string
}

export const dialects = {
  sqlite: {
    day: (column) => `date(${column} / 1000, 'unixepoch')`,
    quotient: (dividend, divisor) => `${dividend} / ${divisor}`,
  },
  postgres: {
    day: (column) => `to_char(to_timestamp(${column} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
    quotient: (dividend, divisor) => `div(${dividend}, ${divisor})`,
  },
} as const satisfies Readonly<Record<string, Dialect>>

/** The coin is inside the binding, so its lines are merged afterwards. */
const groupColumns = {
  analysis: 'route',
  network: 'p.network',
  payer: 'payer',
  coin: 'binding',
} as const

/** An empty table of costs, until `serve` has created the real one. */
const NO_COSTS = `(SELECT '' AS network, '' AS transaction_hash, '' AS purpose, 1 AS payments, 0 AS fee,
  0 AS at_ms WHERE false)`
/** A sum of wei can exceed the integers of SQLite, so it is read in two parts. */
const GIGA = 1_000_000_000n
const PAGE_ROWS = 1_000

/** Numbers of any size arrive from PostgreSQL as text. */
type Sum = bigint | string
type FeeParts = { readonly feeGiga: Sum; readonly feeRest: Sum }
/** Group columns `g0`, `g1` and so on, and the sums. */
type GroupRow = Readonly<Record<`g${number}`, string>> &
  Pick<ReportLine, 'state'> &
  FeeParts & { readonly payments: bigint; readonly amount: Sum; readonly unknownFees: bigint }
type CostRow = Pick<CostLine, 'day' | 'network' | 'purpose'> &
  FeeParts & { readonly transactions: bigint }

/** Read-only view of the ledger for operators, also while a service writes it. */
export class LedgerBooks {
  readonly #query: SqlQuery
  readonly #dialect: Dialect
  readonly #costs: string
  readonly #join: string
  /** Share of a payment in the fee of its transaction. */
  readonly #fee: string

  /** @param hasCosts whether the table of transaction costs exists */
  constructor(query: SqlQuery, dialect: Dialect, hasCosts: boolean) {
    this.#query = query
    this.#dialect = dialect
    this.#costs = hasCosts ? 'perpscope.transaction_costs' : NO_COSTS
    this.#join = `LEFT JOIN ${this.#costs} c
      ON c.network = p.network AND c.transaction_hash = p.transaction_hash AND c.payments > 0`
    this.#fee = dialect.quotient('c.fee', 'c.payments')
  }

  /** By the first `by`, then the next, then the state. */
  async lines(
    { sinceMs, untilMs }: ReportRange,
    by: readonly ReportDimension[] = dimensionsByDefault,
  ): Promise<readonly ReportLine[]> {
    const columns = by.map((name, index) => {
      const column = name === 'day' ? this.#dialect.day('begun_ms') : groupColumns[name]
      return `${column} AS g${index}`
    })
    // A nonce with ':' is a voucher of a channel, which has no transaction of its own.
    const isUnknown = `state = 'settled' AND ${this.#fee} IS NULL AND nonce NOT LIKE '%:%'`
    const rows = await this.#query<GroupRow>(
      `SELECT ${[...columns, 'state'].join(', ')}, count(*) AS payments, sum(amount) AS amount,
           ${this.#feeParts(this.#fee)}, sum(CASE WHEN ${isUnknown} THEN 1 ELSE 0 END) AS "unknownFees"
         FROM perpscope.payments p ${this.#join} WHERE begun_ms >= $1 AND begun_ms < $2
         GROUP BY ${['state', ...columns].map((_, index) => index + 1).join(', ')}`,
      [sinceMs, untilMs],
    )
    return mergedLines(
      rows.map(({ state, payments, amount, feeGiga, feeRest, unknownFees, ...values }) => ({
        ...{ state, amount: BigInt(amount), fee: feeOf({ feeGiga, feeRest }) },
        payments: Number(payments),
        unknownFees: Number(unknownFees),
        values: by.map((_, index) => values[`g${index}`] as string),
      })),
      by,
    )
  }

  async costs({ sinceMs, untilMs }: ReportRange): Promise<readonly CostLine[]> {
    const rows = await this.#query<CostRow>(
      `SELECT ${this.#dialect.day('at_ms')} AS day, network, purpose, count(*) AS transactions,
           ${this.#feeParts('fee')}
         FROM ${this.#costs} c WHERE at_ms >= $1 AND at_ms < $2 GROUP BY 1, 2, 3`,
      [sinceMs, untilMs],
    )
    // Collations differ between databases.
    const keyOf = ({ day, network, purpose }: CostRow) => `${day} ${network} ${purpose}`
    return rows
      .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      .map(({ day, network, purpose, transactions, ...parts }) => ({
        ...{ day, network, purpose, fee: feeOf(parts) },
        transactions: Number(transactions),
      }))
  }

  /** In the order of their begin, and in pages, because a year of payments may not fit into memory. */
  async *payments({ sinceMs, untilMs }: ReportRange): AsyncGenerator<ReportedPayment> {
    let after: readonly [bigint, bigint] = [BigInt(sinceMs), -1n]
    for (;;) {
      const rows = await this.#query<PaymentRow>(
        `SELECT p.id, begun_ms AS "begunMs", updated_ms AS "updatedMs",
             valid_before_ms AS "validBeforeMs", route, binding, p.network, asset, payer, nonce,
             amount, finality, state, p.transaction_hash AS "transaction",
             CAST(${this.#fee} AS text) AS fee, expires_ms AS "answerUntilMs",
             caller_until_ms AS "callerUntilMs"
           FROM perpscope.payments p ${this.#join}
             LEFT JOIN perpscope.answers ON payment_id = p.id
           WHERE (begun_ms, p.id) > (CAST($1 AS bigint), CAST($2 AS bigint)) AND begun_ms < $3
           ORDER BY begun_ms, p.id LIMIT ${PAGE_ROWS}`,
        [...after, untilMs],
      )
      yield* rows.map(reportedPayment)
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE_ROWS) return
      after = [last.begunMs, last.id]
    }
  }

  #feeParts(fee: string): string {
    return `coalesce(sum(${this.#dialect.quotient(fee, String(GIGA))}), 0) AS "feeGiga",
      coalesce(sum(${fee} % ${GIGA}), 0) AS "feeRest"`
  }
}

function feeOf({ feeGiga, feeRest }: FeeParts): bigint {
  return BigInt(feeGiga) * GIGA + BigInt(feeRest)
}

/** A line as a store reads it, with the values of {@link groupColumns}. */
type GroupedRow = Omit<ReportLine, 'of'> & { readonly values: readonly string[] }

/** Merges lines that agree after the analysis and the coin were read from their columns. */
function mergedLines(
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

type PaymentRow = Pick<
  ReportedPayment,
  'network' | 'asset' | 'payer' | 'nonce' | 'amount' | 'finality' | 'state' | 'transaction'
> & {
  readonly id: bigint
  readonly route: string
  readonly binding: string
  readonly begunMs: bigint
  readonly updatedMs: bigint
  readonly validBeforeMs: bigint
  readonly fee: string | null
  readonly answerUntilMs: bigint | null
  /** 0 once the answer has arrived. */
  readonly callerUntilMs: bigint
}

function reportedPayment({
  id,
  route,
  binding,
  updatedMs,
  callerUntilMs,
  ...facts
}: PaymentRow): ReportedPayment {
  return {
    ...facts,
    begunMs: Number(facts.begunMs),
    settledMs: facts.state === 'settled' ? Number(updatedMs) : null,
    validBeforeMs: Number(facts.validBeforeMs),
    analysis: analysisOf(route),
    coin: coinOf(binding),
    fee: facts.fee === null ? null : BigInt(facts.fee),
    isDelivered: callerUntilMs === 0n,
    answerUntilMs: facts.answerUntilMs === null ? null : Number(facts.answerUntilMs),
  }
}
