import { createHash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { OperatingError } from '../../domain/errors.ts'
import type { Postgres } from './postgres.ts'

/** A table that is in a file and in PostgreSQL with the same columns. */
export type MovedTable = {
  readonly from: string
  readonly to: string
  readonly columns: readonly string[]
  /** In the order of which both are compared: names and expressions of each. */
  readonly order: { readonly from: string; readonly to: string }
  /** Columns of PostgreSQL alone, as SQL. */
  readonly added?: Readonly<Record<string, string>>
}

type Value = bigint | number | string | Buffer | null
type Row = Readonly<Record<string, Value>>

const PAGE_ROWS = 100

/**
 * Copies the rows that are missing in PostgreSQL, a page at a time, and compares both. A page is copied entirely or not
 * at all, so an interrupted move can be repeated.
 * @returns the number of rows, and the SHA-256 over them
 * @throws OperatingError if both differ in the end
 */
export async function moveTable(
  file: Database.Database,
  db: Postgres,
  table: MovedTable,
): Promise<{ readonly rows: number; readonly digest: string }> {
  const { from, to, columns, order } = table
  let page: Row[] = []
  const insert = async () => {
    if (page.length > 0) await insertPage(db, table, page)
    page = []
  }
  const selected = `SELECT ${columns.join(', ')}`
  const ours = new Digest(columns)
  const stored = file.prepare<[], Row>(`${selected} FROM ${from} ORDER BY ${order.from}`)
  // The connection is used by this move alone, so that the rows may be read while others are written.
  for (const row of stored.safeIntegers().iterate()) {
    ours.add(row)
    page.push(row)
    if (page.length === PAGE_ROWS) await insert()
  }
  await insert()
  const theirs = new Digest(columns)
  await db.transaction(async (query) => {
    await query(`DECLARE moved_${from} CURSOR FOR ${selected} FROM ${to} ORDER BY ${order.to}`)
    for (;;) {
      const rows = await query<Row>(`FETCH ${PAGE_ROWS} FROM moved_${from}`)
      for (const row of rows) theirs.add(row)
      if (rows.length < PAGE_ROWS) return
    }
  })
  const digest = ours.text()
  if (digest === theirs.text()) return { rows: ours.rows, digest }
  throw new OperatingError(
    'ledger_move_differs',
    `the copy of ${from} in PostgreSQL differs: ${theirs.rows} of ${ours.rows} rows. Empty the schema perpscope of the database, and move again.`,
  )
}

async function insertPage(
  db: Postgres,
  { to, columns, added = {} }: MovedTable,
  page: readonly Row[],
): Promise<void> {
  const constants = Object.values(added)
  const rows = page.map((_, at) => {
    const values = columns.map((__, column) => `$${at * columns.length + column + 1}`)
    return `(${[...values, ...constants].join(', ')})`
  })
  await db.query(
    `INSERT INTO ${to} (${[...columns, ...Object.keys(added)].join(', ')})
       VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING`,
    page.flatMap((row) => columns.map((name) => row[name])),
  )
}

/** Of rows in a fixed order, equal in both stores. */
class Digest {
  readonly #hash = createHash('sha256')
  readonly #columns: readonly string[]
  rows = 0

  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  add(row: Row): void {
    this.#hash.update(JSON.stringify(this.#columns.map((name) => textOf(row[name] ?? null))))
    this.rows += 1
  }

  text(): string {
    return this.#hash.digest('hex')
  }
}

function textOf(value: Value): string | null {
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return value === null ? null : String(value)
}
