import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { ClaimFamily, StoredClaim } from '../domain/track-record.ts'
import { readClaims } from './claim-rows.ts'

/**
 * Resolved claims of one family and day, from the history file of a running engine. The file is opened for each call,
 * because the engine may replace it. @returns none before the file exists
 */
export function storedClaims(
  path: string,
  family: ClaimFamily,
  dayMs: number,
): readonly StoredClaim[] {
  if (!existsSync(path)) return []
  const db = new Database(path, { readonly: true, fileMustExist: true })
  try {
    return readClaims(db, family, dayMs)
  } finally {
    db.close()
  }
}
