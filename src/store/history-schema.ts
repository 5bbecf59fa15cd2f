import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'
import { createClaimTable } from './claim-rows.ts'
import { BLOCK_NUMBER_MAX } from './history-block.ts'

/**
 * Number of tables that share the blocks, by coin. SQLite checks one table at a time: milliseconds for one of these,
 * seconds for the whole file.
 */
const SHARDS = 64

export const shardNames: readonly string[] = Array.from(
  { length: SHARDS },
  (_, shard) => `block_${String(shard).padStart(2, '0')}`,
)

export function shardOf(coinId: number): number {
  return coinId % SHARDS
}

/** Covers the id as well, so that a coin never gets the history of another one. */
export function coinCrc(id: number, name: string): number {
  return crc32(name, crc32(String(id)))
}

/** First schemas with 1h bars only, and with a table of claims. */
export const HOURS_ONLY_SCHEMA = 3
export const CLAIMS_SCHEMA = 4

/** A row with bars of 15m or 4h. */
export const IS_REMOVED_BAR = `key / ${BLOCK_NUMBER_MAX + 1} % 8 IN (0, 2)`

export const historyMigrations: readonly ((db: Database.Database) => void)[] = [
  (db) => {
    db.exec('CREATE TABLE coin (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT')
    for (const name of shardNames)
      db.exec(
        `CREATE TABLE ${name} (key INTEGER PRIMARY KEY, body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT`,
      )
  },
  (db) => {
    db.exec('ALTER TABLE coin ADD COLUMN crc INTEGER NOT NULL DEFAULT 0')
    const update = db.prepare<[number, number]>('UPDATE coin SET crc = ? WHERE id = ?')
    const coins = db.prepare<[], { id: number; name: string }>('SELECT id, name FROM coin').all()
    for (const { id, name } of coins) update.run(coinCrc(id, name), id)
  },
  // Nothing read them: an engine has its candles from the checkpoint or from the venue.
  (db) => {
    for (const name of shardNames) db.exec(`DELETE FROM ${name} WHERE ${IS_REMOVED_BAR}`)
  },
  (db) => db.exec(createClaimTable),
]
