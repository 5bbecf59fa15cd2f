import type { Postgres, SqlQuery } from './ledger/postgres.ts'
import type { PostgresTables } from './ledger/postgres-schema.ts'
import type { HourRow, OpenLeaf } from './stored-proof-log.ts'
import { proofStatements, StoredProofLog, sealValues } from './stored-proof-log.ts'

export const proofTables: PostgresTables = {
  name: 'proofs',
  scripts: [
    `CREATE TABLE perpscope.proof_hours (
       number bigint PRIMARY KEY,
       hour bigint NOT NULL,
       answers bigint NOT NULL,
       claims bigint NOT NULL,
       root bytea NOT NULL,
       chain bytea NOT NULL
     );
     CREATE TABLE perpscope.proof_leaves (
       id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       digest bytea NOT NULL UNIQUE,
       kind int NOT NULL,
       hour bigint NOT NULL,
       number bigint REFERENCES perpscope.proof_hours,
       position int
     );
     CREATE INDEX proof_leaves_open ON perpscope.proof_leaves (hour) WHERE number IS NULL;
     CREATE INDEX proof_leaves_sealed ON perpscope.proof_leaves (number, position)
       WHERE number IS NOT NULL;
     CREATE TABLE perpscope.proof_anchors (
       day bigint PRIMARY KEY,
       number bigint NOT NULL REFERENCES perpscope.proof_hours,
       network text NOT NULL,
       hash text NOT NULL,
       is_mined boolean NOT NULL
     );`,
  ],
}

const statements = proofStatements({
  hours: 'perpscope.proof_hours',
  leaves: 'perpscope.proof_leaves',
  anchors: 'perpscope.proof_anchors',
})
const INSERT = `INSERT INTO perpscope.proof_leaves (digest, kind, hour)
  SELECT digest, $2, $3 FROM unnest($1::bytea[]) WITH ORDINALITY AS given (digest, at) ORDER BY at
  ON CONFLICT DO NOTHING`
const PLACE = `UPDATE perpscope.proof_leaves SET number = $1, position = given.at - 1
  FROM unnest($2::bigint[]) WITH ORDINALITY AS given (leaf, at) WHERE id = given.leaf`

/** Of `pg_try_advisory_xact_lock`: one gateway seals at a time. */
const SEAL_LOCK = 7_404_001

/**
 * The proof log of all gateways that share a ledger: each adds what it sells, each answers the same proofs. The hour is
 * that of the database, so gateways whose clocks differ agree.
 * @param db with the tables of proofs; closed by its owner
 * @param nowMs the clock of the database by default
 */
export function postgresProofLog(db: Postgres, nowMs = () => clockOf(db)): StoredProofLog {
  return new StoredProofLog({
    ...{ statements, nowMs, query: db.query },
    async insert(kind, hour, digests) {
      await db.query(INSERT, [digests, kind, hour])
    },
    sealNext: (hour) => db.transaction((query) => sealNext(query, hour)),
  })
}

async function clockOf(db: Postgres): Promise<number> {
  const [row] = await db.query<{ ms: bigint }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
  )
  return Number(row?.ms)
}

async function sealNext(query: SqlQuery, hour: number): Promise<boolean> {
  const [lock] = await query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
    SEAL_LOCK,
  ])
  if (lock?.held !== true) return false
  const [last] = await query<HourRow>(statements.lastHour)
  // In the next transactions a leaf of this hour is for a later number.
  const leaves = await query<OpenLeaf>(statements.openLeaves, [hour])
  if (leaves.length === 0) return false
  const values = sealValues(last, hour, leaves)
  await query(statements.seal, values)
  await query(PLACE, [values[0], leaves.map(({ id }) => id)])
  return true
}
