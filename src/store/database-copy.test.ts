import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backUpDatabase, copyHeldDatabase } from './database-copy.ts'

/** Several steps of a backup, and several chunks of a copy. */
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

function opened(mode: 'NORMAL' | 'EXCLUSIVE'): void {
  db = new Database(source)
  db.pragma(`locking_mode = ${mode}`)
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

const noPause = () => Promise.resolve()

describe('the online backup', () => {
  test('ends, with the state that was looked at, though rows come with every step', async () => {
    opened('NORMAL')
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
})

describe('the copy of a file that its process keeps for itself', () => {
  test('has what is only in the log', async () => {
    opened('EXCLUSIVE')
    await copyHeldDatabase(source, target, { pause: noPause })
    expect(checkTarget()).toBe(ROWS)
  })

  test('has what is in no log any more', async () => {
    opened('EXCLUSIVE')
    db.pragma('wal_checkpoint(TRUNCATE)')
    await copyHeldDatabase(source, target, { pause: noPause })
    expect(checkTarget()).toBe(ROWS)
  })

  test('is whole though the log is copied into the file, and added to, meanwhile', async () => {
    opened('EXCLUSIVE')
    db.pragma('wal_checkpoint(TRUNCATE)')
    change()
    let chunks = 0
    await copyHeldDatabase(source, target, {
      pause: noPause,
      onProgress: () => {
        chunks += 1
        // The next change after a whole checkpoint would begin the log anew.
        if (chunks < 3) change()
        if (chunks === 2) db.pragma('wal_checkpoint(PASSIVE)')
      },
    })
    expect(chunks, 'one copy').toBe(3)
    expect(checkTarget()).toBe(ROWS)
  })

  test.each(['log', 'no log'])(
    'begins again where the log is emptied (%s at first)',
    async (at) => {
      opened('EXCLUSIVE')
      if (at === 'no log') db.pragma('wal_checkpoint(TRUNCATE)')
      let [pauses, chunks] = [0, 0]
      await copyHeldDatabase(source, target, {
        pause: async () => {
          pauses += 1
        },
        onProgress: () => {
          chunks += 1
          if (chunks > 3) return
          change()
          db.pragma('wal_checkpoint(TRUNCATE)')
        },
      })
      expect(pauses).toBeGreaterThan(0)
      expect(checkTarget()).toBe(ROWS)
    },
  )

  test('is given up at the second try where the file is damaged and nobody writes it', async () => {
    opened('NORMAL')
    db.close()
    writeFileSync(source, 'no database')
    let copies = 0
    const copying = copyHeldDatabase(source, target, {
      pause: noPause,
      onProgress: (done, total) => {
        if (done === total) copies += 1
      },
    })
    await expect(copying).rejects.toMatchObject({ code: 'file_not_copied' })
    expect(copies).toBe(2)
  })

  test('is given up where the file never stands still', async () => {
    opened('EXCLUSIVE')
    const copying = copyHeldDatabase(source, target, {
      pause: async () => {
        change()
        db.pragma('wal_checkpoint(TRUNCATE)')
      },
      onProgress: () => {
        change()
        db.pragma('wal_checkpoint(TRUNCATE)')
      },
    })
    await expect(copying).rejects.toMatchObject({ code: 'file_not_copied' })
  })
})
