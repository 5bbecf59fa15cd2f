import type Database from 'better-sqlite3'
import type { SqlQuery } from './postgres.ts'

/** {@link SqlQuery} at once, so that it can be part of a transaction. */
export type SqliteRows = <Row>(text: string, values?: readonly unknown[]) => Row[]

/**
 * Runs statements that are written for both stores, with the parameters and the schema of PostgreSQL. Integers are
 * `bigint`, as there.
 */
export function sqliteRows(db: Database.Database): SqliteRows {
  const prepared = new Map<string, Database.Statement>()
  return <Row>(text: string, values: readonly unknown[] = []) => {
    const statement =
      prepared.get(text) ?? db.prepare(text.replaceAll('perpscope.', '')).safeIntegers()
    prepared.set(text, statement)
    const byNumber = Object.fromEntries(values.map((value, index) => [index + 1, value]))
    if (statement.reader) return statement.all(byNumber) as Row[]
    statement.run(byNumber)
    return []
  }
}

export function sqliteQuery(db: Database.Database): SqlQuery {
  const rowsOf = sqliteRows(db)
  return async (text, values) => rowsOf(text, values)
}
