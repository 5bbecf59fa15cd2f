import Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import { checkHasPayments, foreignLedger, isNoDatabase } from './ledger-report.ts'
import { SCHEMA_VERSION } from './sqlite-schema.ts'
import { answerHash } from './stored-row.ts'

/** Payments per state. */
export type PaymentCounts = Readonly<Record<string, number>>

export type LedgerContents = {
  readonly version: number
  readonly payments: PaymentCounts
  /** Stored answers, each compared with its hash. */
  readonly answers: number
}

/**
 * Reads every page and every answer of any schema version up to ours; changes nothing.
 * @throws OperatingError for a damaged file, a newer schema, or a file that is not a ledger
 */
export function inspectLedger(path: string): LedgerContents {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true })
    const verdict = db.pragma('quick_check', { simple: true })
    if (verdict !== 'ok') throw damaged(path, String(verdict))
    const tables = checkHasPayments(db, path)
    const version = Number(db.pragma('user_version', { simple: true }))
    if (version > SCHEMA_VERSION)
      throw new OperatingError(
        'ledger_version',
        `${path} has schema ${version}; this version of perpscope reads up to ${SCHEMA_VERSION}. Use a later version.`,
      )
    const payments = countPayments(db)
    const table = tables.includes('answers') ? 'answers' : 'payments'
    return { version, payments, answers: checkedAnswers(db, table, path) }
  } catch (cause) {
    if (cause instanceof OperatingError) throw cause
    throw isNoDatabase(cause)
      ? foreignLedger(path)
      : new OperatingError('ledger_unusable', `${path} cannot be read`, { cause })
  } finally {
    db?.close()
  }
}

export function countPayments(db: Database.Database): PaymentCounts {
  const rows = db
    .prepare<[], { state: string; payments: number }>(
      'SELECT state, count(*) AS payments FROM payments GROUP BY state ORDER BY state',
    )
    .all()
  return Object.fromEntries(rows.map(({ state, payments }) => [state, payments]))
}

/** @param table `answers` since schema 2, `payments` before */
function checkedAnswers(db: Database.Database, table: string, path: string): number {
  const rows = db.prepare<[], { headers: string; body: Buffer; answer_hash: Buffer }>(
    `SELECT headers, body, answer_hash FROM ${table}`,
  )
  let answers = 0
  for (const { headers, body, answer_hash: hash } of rows.iterate()) {
    if (!answerHash(headers, body).equals(hash)) throw damaged(path, 'a stored answer')
    answers += 1
  }
  return answers
}

function damaged(path: string, what: string): OperatingError {
  return new OperatingError('ledger_corrupt', `${path} is damaged: ${what}`)
}
