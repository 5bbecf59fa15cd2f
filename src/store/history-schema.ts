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
  // Bars of 15m and 4h, which nothing read: an engine has its candles from the checkpoint or from the venue.
  (db) => {
    for (const name of shardNames)
      db.exec(`DELETE FROM ${name} WHERE key / ${BLOCK_NUMBER_MAX + 1} % 8 IN (0, 2)`)
  },
  (db) => db.exec(createClaimTable),
]
