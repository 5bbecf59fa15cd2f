import { OperatingError } from '../../domain/errors.ts'
import type { ReportedPayment, ReportRange } from './ledger-books.ts'
import { isVoucher } from './ledger-books.ts'

/** A transfer of USDC to the payee in a final block. */
export type PayeeTransfer = {
  readonly transaction: string
  /** Owner of the USDC before the transfer. */
  readonly payer: string
  /** USDC atoms. */
  readonly amount: bigint
  /** Whether its block is in the period, and not only in the margin around it. */
  readonly isInPeriod: boolean
  /** A payout of payment channels, which belongs to many sales. */
  readonly isChannelPayout: boolean
}

export type TransferDetails = {
  /** Time of its block. */
  readonly atMs: number
  /** Nonce of the payment that authorized it; null for another kind of transfer. */
  readonly nonce: string | null
}

/** Result of a transaction that pays nothing in the blocks that were read. */
export type TransactionFate = 'absent' | 'failed' | 'other' | 'paid_outside' | 'paid_within'

/** The final transfers of one network to one payee. */
export type ReadTransfers = {
  readonly transfers: readonly PayeeTransfer[]
  readonly firstBlock: number
  readonly lastBlock: number
  /** Time of the last final block. */
  readonly finalMs: number
}

/** A chain as the source of the transfers to one payee. Every method throws OperatingError `node_unavailable`. */
export interface PayeeChain {
  readonly network: string
  readonly payTo: string
  /** Reads the period and a margin around it, up to the last final block. */
  read(period: ReportRange, marginMs: number): Promise<ReadTransfers>
  detailsOf(transfer: PayeeTransfer): Promise<TransferDetails>
  /** @param payment the settled payment that names the transaction */
  fateOf(payment: ReportedPayment): Promise<TransactionFate>
}

/**
 * `missing`: the ledger reports a payment as settled, and the chain has no such transfer. `surplus`: the chain has more
 * or something else than the ledger has for a payment. `unknown`: no payment explains the transfer.
 */
type DifferenceKind = 'missing' | 'surplus' | 'unknown'

type DifferenceReason =
  | 'no_transaction'
  | 'transaction_absent'
  | 'transaction_failed'
  | 'transaction_without_transfer'
  | 'transfer_of_another_payment'
  | 'other_amount'
  | 'transferred_twice'
  | 'not_settled_in_ledger'
  | 'no_payment'

export type LedgerDifference = {
  readonly kind: DifferenceKind
  readonly reason: DifferenceReason
  /** Of the block; for a missing transfer the begin of the payment. */
  readonly atMs: number
  readonly network: string
  readonly transaction: string | null
  readonly payer: string
  /** USDC atoms; 0 if missing. */
  readonly chainAmount: bigint
  /** USDC atoms; 0 if unknown. */
  readonly ledgerAmount: bigint
  /** Of the payment; null without one. */
  readonly nonce: string | null
}

export type Comparison = Pick<ReadTransfers, 'firstBlock' | 'lastBlock' | 'finalMs'> & {
  readonly network: string
  readonly payTo: string
  /** Settled payments of the period that have their transfer. */
  readonly equal: number
  readonly equalAmount: bigint
  /** Settled after the last final block; compared later. */
  readonly notFinal: number
  /** Payments by voucher, which have no transfer of their own. */
  readonly vouchers: number
  readonly vouchersAmount: bigint
  readonly channelPayouts: number
  readonly channelPayoutsAmount: bigint
  readonly differences: readonly LedgerDifference[]
}

/** A transfer can be some minutes earlier or later than the begin of its payment, and clocks differ. */
export const PERIOD_MARGIN_MS = 3_600_000
/** A service records a settlement at most this long before the time of its block. */
const CLOCK_MARGIN_MS = 60_000

/** A payment of scheme `exact`. `different`: the chain has something else for it. */
type Row = { readonly payment: ReportedPayment; found: 'nothing' | 'transfer' | 'different' }

/**
 * Compares the payments of a ledger with the transfers on a chain.
 * @param payments those of the network in any state that began in the period, in the margin around it, or up to the lifetime
 * of an authorization earlier
 */
export async function compareWithChain(
  payments: readonly ReportedPayment[],
  chain: PayeeChain,
  period: ReportRange,
): Promise<Comparison> {
  const { transfers, ...read } = await chain.read(period, PERIOD_MARGIN_MS)
  const rows = payments
    .filter((payment) => !isVoucher(payment))
    .map((payment): Row => ({ payment, found: 'nothing' }))
  const payouts = transfers.filter(({ isChannelPayout }) => isChannelPayout)
  const unexplained = explain(transfers, rows)
  const differences: LedgerDifference[] = []
  const byPayer = Map.groupBy(rows, ({ payment }) => spelled(payment.payer))
  for (const transfer of unexplained) {
    const own = byPayer.get(spelled(transfer.payer)) ?? []
    const difference = await judged(transfer, own, chain)
    if (difference !== null && transfer.isInPeriod) differences.push(difference)
  }
  const known = new Set(transfers.map(transferKey))
  let notFinal = 0
  for (const { payment } of rows.filter((row) => isExpected(row, period))) {
    if (lastMoveMs(payment) > read.finalMs - CLOCK_MARGIN_MS) notFinal += 1
    else {
      const isTaken = known.has(transferKey({ ...payment, transaction: payment.transaction ?? '' }))
      const difference = await missing(payment, isTaken, chain)
      if (difference === 'outside') notFinal += 1
      else differences.push(difference)
    }
  }
  const paid = rows.filter(
    ({ payment, found }) => found === 'transfer' && isIn(payment.begunMs, period),
  )
  const vouchers = payments.filter(
    (payment) => isVoucher(payment) && payment.state === 'settled' && isIn(payment.begunMs, period),
  )
  const inPeriod = payouts.filter(({ isInPeriod }) => isInPeriod)
  return {
    ...{ network: chain.network, payTo: chain.payTo, ...read },
    ...{ equal: paid.length, equalAmount: sumOf(paid.map(({ payment }) => payment)) },
    ...{ notFinal, vouchers: vouchers.length, vouchersAmount: sumOf(vouchers) },
    ...{ channelPayouts: inPeriod.length, channelPayoutsAmount: sumOf(inPeriod) },
    differences: differences.sort((one, other) => one.atMs - other.atMs),
  }
}

/**
 * Marks payments whose transaction has their transfer, as many transfers as payments.
 * @returns the other transfers, which need a closer look
 */
function explain(
  transfers: readonly PayeeTransfer[],
  rows: readonly Row[],
): readonly PayeeTransfer[] {
  const settled = rows.filter(({ payment }) => payment.state === 'settled')
  const claims = Map.groupBy(settled, ({ payment }) =>
    transferKey({ ...payment, transaction: payment.transaction ?? '' }),
  )
  const others = transfers.filter(({ isChannelPayout }) => !isChannelPayout)
  return [...Map.groupBy(others, transferKey)].flatMap(([key, found]) => {
    const claimed = claims.get(key) ?? []
    if (claimed.length !== found.length) return found
    for (const row of claimed) row.found = 'transfer'
    return []
  })
}

/**
 * By its nonce, or without one by a payment in its transaction; null if it is explained.
 * @param own payments of its payer
 */
async function judged(
  transfer: PayeeTransfer,
  own: readonly Row[],
  chain: PayeeChain,
): Promise<LedgerDifference | null> {
  const { transaction, payer, amount } = transfer
  const { atMs, nonce } = await chain.detailsOf(transfer)
  const row = own.find(({ payment }) =>
    nonce === null
      ? payment.state === 'settled' && same(payment.transaction ?? '', transaction)
      : same(payment.nonce, nonce),
  )
  const found = { atMs, network: chain.network, transaction, payer, chainAmount: amount }
  if (row === undefined)
    return { kind: 'unknown', reason: 'no_payment', ...found, ledgerAmount: 0n, nonce }
  const { payment, found: before } = row
  const of = {
    kind: 'surplus',
    ...found,
    ledgerAmount: payment.amount,
    nonce: payment.nonce,
  } as const
  if (before !== 'nothing') return { ...of, reason: 'transferred_twice' }
  const isSettled = payment.state === 'settled'
  // Another sender can have submitted the authorization in a transaction of its own.
  const isEqual = isSettled && payment.amount === amount
  row.found = isEqual ? 'transfer' : 'different'
  if (isEqual) return null
  return { ...of, reason: isSettled ? 'other_amount' : 'not_settled_in_ledger' }
}

/**
 * @param isTaken whether its transfer is there, and belongs to another payment
 * @returns `outside` if the transfer is in a block that was not read, such as one that is not final
 */
async function missing(
  payment: ReportedPayment,
  isTaken: boolean,
  chain: PayeeChain,
): Promise<LedgerDifference | 'outside'> {
  const { begunMs: atMs, transaction, payer, amount: ledgerAmount, nonce } = payment
  const fate = isTaken ? 'taken' : transaction ? await chain.fateOf(payment) : 'none'
  if (fate === 'paid_outside') return 'outside'
  if (fate === 'paid_within')
    throw new OperatingError(
      'node_unavailable',
      `the node has the transfer of ${transaction}, and left it out of the logs of its block: use another node`,
    )
  return {
    ...{ kind: 'missing', reason: missingReasons[fate], atMs, network: chain.network },
    ...{ transaction, payer, chainAmount: 0n, ledgerAmount, nonce },
  }
}

const missingReasons = {
  taken: 'transfer_of_another_payment',
  none: 'no_transaction',
  absent: 'transaction_absent',
  failed: 'transaction_failed',
  other: 'transaction_without_transfer',
} as const

function isExpected({ payment, found }: Row, period: ReportRange): boolean {
  return found === 'nothing' && payment.state === 'settled' && isIn(payment.begunMs, period)
}

function lastMoveMs({ begunMs, settledMs }: ReportedPayment): number {
  return Math.max(begunMs, settledMs ?? 0)
}

function isIn(timeMs: number, { sinceMs, untilMs }: ReportRange): boolean {
  return timeMs >= sinceMs && timeMs < untilMs
}

function transferKey({
  transaction,
  payer,
  amount,
}: Pick<PayeeTransfer, 'transaction' | 'payer' | 'amount'>): string {
  return `${spelled(transaction)} ${spelled(payer)} ${amount}`
}

function same(one: string, other: string): boolean {
  return spelled(one) === spelled(other)
}

/** Hexadecimal digits are equal in either case; base58 is not. */
function spelled(name: string): string {
  return name.startsWith('0x') ? name.toLowerCase() : name
}

function sumOf(items: readonly { readonly amount: bigint }[]): bigint {
  return items.reduce((sum, { amount }) => sum + amount, 0n)
}
