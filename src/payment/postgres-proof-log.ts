import { hash } from 'node:crypto'
import type {
  Anchor,
  AnswerProof,
  HourAnchor,
  HoursBefore,
  LeafKind,
  ProofLog,
  SealedHour,
} from '../domain/answer-proof.ts'
import {
  FOLLOWING_MAX,
  hourOf,
  LEAVES_MAX,
  leafKinds,
  NO_CHAIN,
  sealedHour,
  waitingHours,
} from '../domain/answer-proof.ts'
import { MerkleTree } from '../domain/merkle-tree.ts'
import type { Postgres, SqlQuery } from './ledger/postgres.ts'
import type { PostgresTables } from './ledger/postgres-schema.ts'

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

type HourRow = Readonly<Record<'number' | 'hour' | 'answers' | 'claims', bigint>> & {
  readonly root: Buffer
  readonly chain: Buffer
}

type LeafRow = {
  readonly kind: number
  readonly hour: bigint
  readonly number: bigint | null
  readonly position: number | null
}

type AnchorRow = Pick<Anchor, 'network' | 'transaction'> & {
  readonly day: bigint
  readonly number: bigint
}

/** Of `pg_try_advisory_xact_lock`: one gateway seals at a time. */
const SEAL_LOCK = 7_404_001
const HOUR_MS = 3_600_000
const ALL = 2n ** 62n

const INSERT = `INSERT INTO perpscope.proof_leaves (digest, kind, hour)
  SELECT digest, $2, $3 FROM unnest($1::bytea[]) WITH ORDINALITY AS given (digest, at) ORDER BY at
  ON CONFLICT DO NOTHING`
/** Two ranges of the index, without the leaves of the present hour, which wait too. */
const ENDED = `SELECT hour FROM (
    SELECT id, hour FROM perpscope.proof_leaves WHERE number IS NULL AND hour < $1
    UNION ALL SELECT id, hour FROM perpscope.proof_leaves WHERE number IS NULL AND hour > $2) ended
  GROUP BY hour ORDER BY min(id)`
const ANCHOR = 'SELECT day, number, network, hash AS transaction FROM perpscope.proof_anchors'

/**
 * The proof log of all gateways that share a ledger: each adds what it sells, each answers the same proofs. The hour is
 * that of the database, so gateways whose clocks differ agree.
 */
export class PostgresProofLog implements ProofLog {
  readonly #db: Postgres
  readonly #nowMs: () => Promise<number>

  /**
   * @param db with the tables of proofs; closed by its owner
   * @param nowMs the clock of the database by default
   */
  constructor(db: Postgres, nowMs: () => Promise<number> = () => clockOf(db)) {
    this.#db = db
    this.#nowMs = nowMs
  }

  async add(kind: LeafKind, digests: readonly Uint8Array[]): Promise<void> {
    const hour = hourOf(await this.#nowMs())
    const given = digests.map((digest) => Buffer.from(digest))
    await this.#db.query(INSERT, [given, leafKinds.indexOf(kind), hour])
  }

  async proofOf(digest: Uint8Array): Promise<AnswerProof | null> {
    const [found] = await this.#db.query<LeafRow>(
      'SELECT kind, hour, number, position FROM perpscope.proof_leaves WHERE digest = $1',
      [Buffer.from(digest)],
    )
    if (found === undefined) return null
    const kind = leafKinds[found.kind] as LeafKind
    const hour = found.number === null ? null : await this.#hour(Number(found.number))
    if (hour === null || found.position === null)
      return { state: 'open', kind, hourMs: Number(found.hour) * HOUR_MS }
    return {
      ...{ state: 'sealed', kind, hour },
      before: (await this.#hour(hour.number - 1))?.chain ?? NO_CHAIN,
      proof: (await this.#treeOf(hour.number)).proof(found.position),
      anchor: await this.#anchorOf(hour.number),
    }
  }

  async hours(before: HoursBefore, countMax: number): Promise<readonly SealedHour[]> {
    const number = before !== null && 'number' in before ? before.number : ALL
    const hour = before !== null && 'hourMs' in before ? Math.ceil(before.hourMs / HOUR_MS) : ALL
    const rows = await this.#db.query<HourRow>(
      `SELECT * FROM perpscope.proof_hours WHERE number < $1 AND hour < $2
         ORDER BY number DESC LIMIT $3`,
      [number, hour, countMax],
    )
    return rows.map(hourFrom)
  }

  async seal(): Promise<void> {
    const ended = await this.#db.query<{ hour: bigint }>(ENDED, waitingHours(await this.#nowMs()))
    for (const { hour } of ended) {
      let isDone = false
      while (!isDone)
        isDone = !(await this.#db.transaction((query) => sealNext(query, Number(hour))))
    }
  }

  async beginAnchor(day: number, network: string): Promise<SealedHour | null> {
    const [begun] = await this.#db.query<{ number: bigint }>(
      `INSERT INTO perpscope.proof_anchors
         SELECT $1, max(number), $2, '', false FROM perpscope.proof_hours
           HAVING max(number) > coalesce((SELECT max(number) FROM perpscope.proof_anchors), 0)
         ON CONFLICT DO NOTHING RETURNING number`,
      [day, network],
    )
    return begun === undefined ? null : this.#hour(Number(begun.number))
  }

  async anchorSent(day: number, transaction: string): Promise<void> {
    await this.#db.query('UPDATE perpscope.proof_anchors SET hash = $2 WHERE day = $1', [
      ...[day, transaction],
    ])
  }

  async anchorMined(day: number): Promise<void> {
    await this.#db.query('UPDATE perpscope.proof_anchors SET is_mined = true WHERE day = $1', [day])
  }

  async cancelAnchor(day: number): Promise<void> {
    await this.#db.query('DELETE FROM perpscope.proof_anchors WHERE day = $1 AND NOT is_mined', [
      day,
    ])
  }

  async openAnchors(): Promise<readonly Anchor[]> {
    const rows = await this.#db.query<AnchorRow>(`${ANCHOR} WHERE NOT is_mined ORDER BY day`)
    return rows.map(anchorOf)
  }

  async #hour(number: number): Promise<SealedHour | null> {
    const [row] = await this.#db.query<HourRow>(
      'SELECT * FROM perpscope.proof_hours WHERE number = $1',
      [number],
    )
    return row === undefined ? null : hourFrom(row)
  }

  async #anchorOf(number: number): Promise<HourAnchor | null> {
    const [row] = await this.#db.query<AnchorRow>(
      `${ANCHOR} WHERE number >= $1 AND is_mined ORDER BY number LIMIT 1`,
      [number],
    )
    if (row === undefined || Number(row.number) - number > FOLLOWING_MAX) return null
    const chain = (await this.#hour(Number(row.number)))?.chain ?? NO_CHAIN
    const following = await this.#db.query<HourRow>(
      'SELECT * FROM perpscope.proof_hours WHERE number > $1 AND number <= $2 ORDER BY number',
      [number, row.number],
    )
    const { network, transaction } = row
    return { network, transaction, chain, following: following.map(hourFrom) }
  }

  async #treeOf(number: number): Promise<MerkleTree> {
    const rows = await this.#db.query<{ digest: Buffer }>(
      'SELECT digest FROM perpscope.proof_leaves WHERE number = $1 ORDER BY position',
      [number],
    )
    return new MerkleTree(
      rows.map(({ digest }) => digest),
      sha256,
    )
  }
}

async function clockOf(db: Postgres): Promise<number> {
  const [row] = await db.query<{ ms: bigint }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
  )
  return Number(row?.ms)
}

/** Seals the next leaves of an hour. @returns false if there are none, or another gateway seals */
async function sealNext(query: SqlQuery, hour: number): Promise<boolean> {
  const [lock] = await query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
    SEAL_LOCK,
  ])
  if (lock?.held !== true) return false
  const [last] = await query<HourRow>(
    'SELECT * FROM perpscope.proof_hours ORDER BY number DESC LIMIT 1',
  )
  // In the next transactions a leaf of this hour is for a later number.
  const leaves = await query<{ id: bigint; kind: number; digest: Buffer }>(
    `SELECT id, kind, digest FROM perpscope.proof_leaves WHERE number IS NULL AND hour = $1
       ORDER BY id LIMIT ${LEAVES_MAX}`,
    [hour],
  )
  if (leaves.length === 0) return false
  const previous = last && hourFrom(last)
  const next = sealedHour(previous, hour * HOUR_MS, leaves, sha256)
  const { number, answers, claims, root, chain } = next
  await query('INSERT INTO perpscope.proof_hours VALUES ($1, $2, $3, $4, $5, $6)', [
    ...[number, hour, answers, claims, Buffer.from(root), Buffer.from(chain)],
  ])
  await query(
    `UPDATE perpscope.proof_leaves SET number = $1, position = given.at - 1
       FROM unnest($2::bigint[]) WITH ORDINALITY AS given (leaf, at) WHERE id = given.leaf`,
    [number, leaves.map(({ id }) => id)],
  )
  return true
}

function hourFrom({ number, hour, answers, claims, root, chain }: HourRow): SealedHour {
  return {
    ...{ number: Number(number), hourMs: Number(hour) * HOUR_MS, root, chain },
    ...{ answers: Number(answers), claims: Number(claims) },
  }
}

function anchorOf({ day, number, network, transaction }: AnchorRow): Anchor {
  return { day: Number(day), number: Number(number), network, transaction }
}

function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}
