import { createHash } from 'node:crypto'
import { OperatingError } from '../../domain/errors.ts'
import type { BufferedResponse } from '../buffered-response.ts'
import type { AnswerAccess, Credentials } from '../extensions/answer-access.ts'
import type { LedgerRow, PaymentState } from './ledger.ts'

/** Columns of a payment and its answer, equal in both stores. */
export type StoredRow = {
  readonly state: PaymentState
  readonly binding: string
  readonly payload_hash: string
  readonly transaction_hash: string | null
  readonly access: string | null
  readonly caller_until_ms: number
  /** null without an answer. */
  readonly status: number | null
  readonly headers: string
  readonly body: Buffer
  readonly answer_hash: Buffer
}

/**
 * @param name of the payment, for the message
 * @throws OperatingError if the stored answer is damaged
 */
export function ledgerRowOf(row: StoredRow, name: string): LedgerRow {
  const { state, binding, payload_hash: payloadHash, transaction_hash: transaction } = row
  const access =
    row.access === null
      ? null
      : { ...(JSON.parse(row.access) as Credentials), callerUntilMs: row.caller_until_ms }
  const facts = { state, binding, payloadHash, transaction, access }
  if (row.status === null) return { ...facts, answer: null }
  if (!answerHash(row.headers, row.body).equals(row.answer_hash)) {
    throw new OperatingError('ledger_corrupt', `the stored answer of ${name} is damaged`)
  }
  const headers = JSON.parse(row.headers) as BufferedResponse['headers']
  return { ...facts, answer: { status: row.status, headers, body: row.body } }
}

/** The column `access`: what opens the answer, without the time of the caller. */
export function accessColumn({ secrets, caller }: AnswerAccess): string {
  return JSON.stringify({ secrets, caller } satisfies Credentials)
}

export function answerHash(headers: string, body: Buffer): Buffer {
  return createHash('sha256').update(headers).update(body).digest()
}
