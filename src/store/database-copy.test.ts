import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backUpDatabase } from './database-copy.ts'

/** Several steps of a backup. */
const ROWS = 2_500
const BODY = Buffer.alloc(4_000, 1)

let folder: string
let source: string
let target: string
let db: Database.Database

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-database-copy-'))
  source = join(folder, 'source.db')
  target = join(folder, 'target.db')
})

afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

function opened(): void {
  db = new Database(source)
  db.pragma('journal_mode = WAL')
  db.pragma('wal_autocheckpoint = 0')
  db.exec('CREATE TABLE pair (id INTEGER PRIMARY KEY, one INTEGER, other INTEGER, body BLOB)')
  put(ROWS)
}

/** Both columns are one number in every committed state. */
function put(rows: number): void {
  const insert = db.prepare('INSERT INTO pair (one, other, body) VALUES (?, ?, ?)')
  db.transaction(() => {
    for (let row = 0; row < rows; row += 1) insert.run(row, row, BODY)
  })()
}

function change(): void {
  db.exec('UPDATE pair SET one = one + 1, other = other + 1 WHERE id % 25 = 0')
}

const count = (from: Database.Database) =>
  from.prepare<[], number>('SELECT count(*) FROM pair').pluck().get() as number

function checkTarget(): number {
  const copy = new Database(target, { readonly: true })
  try {
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(copy.prepare('SELECT 1 FROM pair WHERE one <> other').get()).toBeUndefined()
    return count(copy)
  } finally {
    copy.close()
  }
}

describe('the online backup', () => {
  test('ends, with the state that was looked at, though rows come with every step', async () => {
    opened()
    let steps = 0
    const seen = await backUpDatabase(source, target, count, () => {
      steps += 1
      put(1)
      change()
    })
    expect(steps, 'it gave others their turn').toBeGreaterThan(5)
    expect(seen).toBe(ROWS)
    expect(checkTarget()).toBe(ROWS)
  })

  test('copies the state of its start if nothing else is read, without a restart', async () => {
    opened()
    let steps = 0
    await backUpDatabase(
      source,
      target,
      () => undefined,
      () => {
        steps += 1
        if (steps < 4) put(1)
      },
    )
    expect(checkTarget()).toBe(ROWS)
  })
})
