import type Database from 'better-sqlite3'
import { sqliteRows } from './ledger/sqlite-query.ts'
import type { HourRow, OpenLeaf } from './stored-proof-log.ts'
import { proofStatements, StoredProofLog, sealValues } from './stored-proof-log.ts'

const statements = proofStatements({ hours: 'sealed', leaves: 'leaves', anchors: 'anchors' })
const INSERT = 'INSERT OR IGNORE INTO leaves (digest, kind, hour) VALUES ($1, $2, $3)'
const PLACE = 'UPDATE leaves SET number = $1, position = $2 WHERE id = $3'

/**
 * The proof log of one process.
 * @param db with the tables of proofs; closed by its owner
 * @param defer runs a task after other work of the thread
 */
export function sqliteProofLog(
  db: Database.Database,
  nowMs: () => number,
  defer: (task: () => void) => void = (task) => task(),
): StoredProofLog {
  const rowsOf = sqliteRows(db)

  function sealNext(hour: number): boolean {
    const leaves = rowsOf<OpenLeaf>(statements.openLeaves, [hour])
    if (leaves.length === 0) return false
    const values = sealValues(rowsOf<HourRow>(statements.lastHour)[0], hour, leaves)
    rowsOf(statements.seal, values)
    for (const [position, { id }] of leaves.entries()) rowsOf(PLACE, [values[0], position, id])
    return true
  }

  return new StoredProofLog({
    statements,
    query: async (text, values) => rowsOf(text, values),
    nowMs: async () => nowMs(),
    insert: async (kind, hour, digests) =>
      db
        .transaction(() => {
          for (const digest of digests) rowsOf(INSERT, [digest, kind, hour])
        })
        .immediate(),
    async sealNext(hour) {
      const isSealed = db.transaction(() => sealNext(hour)).immediate()
      if (isSealed) await new Promise<void>(defer)
      return isSealed
    },
  })
}
