import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
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
import type { FileInspection, FileKind } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'

const HOUR_MS = 3_600_000

/** Steps of the schema; a released one never changes. */
export const proofMigrations: FileKind<unknown>['migrations'] = [
  (db) =>
    db.exec(`
      CREATE TABLE answers (
        hour INTEGER NOT NULL,
        position INTEGER NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (hour, position)
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX answers_digest ON answers (digest);
      CREATE TABLE hours (
        hour INTEGER PRIMARY KEY,
        answers INTEGER NOT NULL,
        root BLOB NOT NULL,
        chain BLOB NOT NULL
      ) STRICT;
    `),
  // Hours are sealed in the order of their leaves, whatever the clock showed; claims are leaves, too.
  (db) =>
    db.exec(`
      CREATE TABLE sealed (
        number INTEGER PRIMARY KEY,
        hour INTEGER NOT NULL,
        answers INTEGER NOT NULL,
        claims INTEGER NOT NULL,
        root BLOB NOT NULL,
        chain BLOB NOT NULL
      ) STRICT;
      CREATE TABLE leaves (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        kind INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        number INTEGER REFERENCES sealed,
        position INTEGER
      ) STRICT;
      INSERT INTO sealed SELECT row_number() OVER (ORDER BY hour), hour, answers, 0, root, chain FROM hours;
      INSERT INTO leaves (digest, kind, hour, number, position)
        SELECT digest, 0, answers.hour, number, iif(number IS NULL, NULL, position)
          FROM answers LEFT JOIN sealed ON sealed.hour = answers.hour ORDER BY answers.hour, position;
      DROP TABLE answers;
      DROP TABLE hours;
      CREATE INDEX leaves_open ON leaves (hour) WHERE number IS NULL;
      CREATE INDEX leaves_sealed ON leaves (number, position) WHERE number IS NOT NULL;
      CREATE TABLE anchors (
        day INTEGER PRIMARY KEY,
        number INTEGER NOT NULL REFERENCES sealed,
        network TEXT NOT NULL,
        hash TEXT NOT NULL,
        is_mined INTEGER NOT NULL
      ) STRICT;
    `),
]

/** The first schema with all leaves in one table; `answers` held them before. */
const LEAVES_SCHEMA = 2

const kind: FileKind<Database.Database> = {
  name: 'proofs',
  isCheckedWhole: true,
  migrations: proofMigrations,
  use: (db) => db,
}

type Defer = (task: () => void) => void

type HourRow = {
  readonly number: number
  readonly hour: number
  readonly answers: number
  readonly claims: number
  readonly root: Buffer
  readonly chain: Buffer
}

type LeafRow = {
  readonly kind: number
  readonly hour: number
  readonly number: number | null
  readonly position: number | null
}

/**
 * The hashes of all sold answers and of all claims, by hour, with the root of each hour in a chain. What was sealed once
 * is never changed, so nobody, the operator included, can add to a past hour or remove from one unnoticed.
 */
export class SqliteProofLog implements ProofLog {
  /** New path of a damaged file, in whose place this one was begun; null for none. */
  readonly setAside: string | null
  readonly #db: Database.Database
  readonly #nowMs: () => number
  readonly #defer: Defer
  readonly #statements

  /**
   * @param defer runs a task after other work of the thread
   * @throws OperatingError if the file cannot be used
   */
  constructor(path: string, nowMs: () => number, defer: Defer = (task) => task()) {
    const { db, setAside } = openSqliteFile(path, kind, nowMs())
    this.#db = db
    this.#nowMs = nowMs
    this.#defer = defer
    this.setAside = setAside
    this.#statements = {
      find: db.prepare<[Uint8Array], LeafRow>(
        'SELECT kind, hour, number, position FROM leaves WHERE digest = ?',
      ),
      add: db.prepare<[Uint8Array, number, number]>(
        'INSERT OR IGNORE INTO leaves (digest, kind, hour) VALUES (?, ?, ?)',
      ),
      // Two ranges of the index, without the leaves of the present hour, which wait too.
      ended: db
        .prepare<[number, number], number>(
          `SELECT hour FROM (
               SELECT id, hour FROM leaves WHERE number IS NULL AND hour < ?
               UNION ALL SELECT id, hour FROM leaves WHERE number IS NULL AND hour > ?)
             GROUP BY hour ORDER BY min(id)`,
        )
        .pluck(),
      openLeaves: db.prepare<[number], { id: number; kind: number; digest: Buffer }>(
        `SELECT id, kind, digest FROM leaves WHERE number IS NULL AND hour = ?
           ORDER BY id LIMIT ${LEAVES_MAX}`,
      ),
      place: db.prepare<[number, number, number]>(
        'UPDATE leaves SET number = ?, position = ? WHERE id = ?',
      ),
      digests: db
        .prepare<[number], Buffer>('SELECT digest FROM leaves WHERE number = ? ORDER BY position')
        .pluck(),
      last: db.prepare<[], HourRow>('SELECT * FROM sealed ORDER BY number DESC LIMIT 1'),
      hour: db.prepare<[number], HourRow>('SELECT * FROM sealed WHERE number = ?'),
      between: db.prepare<[number, number], HourRow>(
        'SELECT * FROM sealed WHERE number > ? AND number <= ? ORDER BY number',
      ),
      page: db.prepare<[number, number, number], HourRow>(
        'SELECT * FROM sealed WHERE number < ? AND hour < ? ORDER BY number DESC LIMIT ?',
      ),
      seal: db.prepare<[number, number, number, number, Uint8Array, Uint8Array]>(
        'INSERT INTO sealed VALUES (?, ?, ?, ?, ?, ?)',
      ),
      anchorOf: db.prepare<[number], Anchor>(
        `SELECT day, number, network, hash AS "transaction" FROM anchors
           WHERE number >= ? AND is_mined = 1 ORDER BY number LIMIT 1`,
      ),
      beginAnchor: db.prepare<[number, string], { number: number }>(
        `INSERT INTO anchors SELECT ?, max(number), ?, '', 0 FROM sealed
           HAVING max(number) > coalesce((SELECT max(number) FROM anchors), 0)
           ON CONFLICT DO NOTHING RETURNING number`,
      ),
      anchorSent: db.prepare<[string, number]>('UPDATE anchors SET hash = ? WHERE day = ?'),
      anchorMined: db.prepare<[number]>('UPDATE anchors SET is_mined = 1 WHERE day = ?'),
      cancelAnchor: db.prepare<[number]>('DELETE FROM anchors WHERE day = ? AND is_mined = 0'),
      openAnchors: db.prepare<[], Anchor>(
        `SELECT day, number, network, hash AS "transaction" FROM anchors WHERE is_mined = 0 ORDER BY day`,
      ),
    }
  }

  static inspect(path: string): FileInspection<unknown> {
    return inspectSqliteFile(path, kind.migrations, (db, version) =>
      checkTable(db, version < LEAVES_SCHEMA ? 'answers' : 'leaves'),
    )
  }

  async add(kind: LeafKind, digests: readonly Uint8Array[]): Promise<void> {
    const hour = hourOf(this.#nowMs())
    this.#db
      .transaction(() => {
        for (const digest of digests)
          this.#statements.add.run(digest, leafKinds.indexOf(kind), hour)
      })
      .immediate()
  }

  async proofOf(digest: Uint8Array): Promise<AnswerProof | null> {
    const found = this.#statements.find.get(digest)
    if (found === undefined) return null
    const kind = leafKinds[found.kind] as LeafKind
    const { number, position } = found
    const hour = number === null ? undefined : this.#statements.hour.get(number)
    if (hour === undefined || position === null)
      return { state: 'open', kind, hourMs: found.hour * HOUR_MS }
    return {
      ...{ state: 'sealed', kind, hour: hourFrom(hour) },
      before: this.#statements.hour.get(hour.number - 1)?.chain ?? NO_CHAIN,
      proof: new MerkleTree(this.#statements.digests.all(hour.number), sha256).proof(position),
      anchor: this.#anchorOf(hour.number),
    }
  }

  async hours(before: HoursBefore, countMax: number): Promise<readonly SealedHour[]> {
    const all = Number.MAX_SAFE_INTEGER
    const number = before !== null && 'number' in before ? before.number : all
    const hour = before !== null && 'hourMs' in before ? Math.ceil(before.hourMs / HOUR_MS) : all
    return this.#statements.page.all(number, hour, countMax).map(hourFrom)
  }

  async seal(): Promise<void> {
    for (const hour of this.#statements.ended.all(...waitingHours(this.#nowMs())))
      while (this.#sealNext(hour)) await new Promise<void>(this.#defer)
  }

  async beginAnchor(day: number, network: string): Promise<SealedHour | null> {
    const begun = this.#statements.beginAnchor.get(day, network)
    const hour = begun === undefined ? undefined : this.#statements.hour.get(begun.number)
    return hour === undefined ? null : hourFrom(hour)
  }

  async anchorSent(day: number, transaction: string): Promise<void> {
    this.#statements.anchorSent.run(transaction, day)
  }

  async anchorMined(day: number): Promise<void> {
    this.#statements.anchorMined.run(day)
  }

  async cancelAnchor(day: number): Promise<void> {
    this.#statements.cancelAnchor.run(day)
  }

  async openAnchors(): Promise<readonly Anchor[]> {
    return this.#statements.openAnchors.all()
  }

  close(): void {
    this.#db.close()
  }

  /** Seals the next leaves of an hour. @returns whether there were any */
  #sealNext(hour: number): boolean {
    const { last, openLeaves, seal, place } = this.#statements
    const work = this.#db.transaction(() => {
      const leaves = openLeaves.all(hour)
      if (leaves.length === 0) return false
      const next = sealedHour(last.get(), hour * HOUR_MS, leaves, sha256)
      const { number, answers, claims, root, chain } = next
      seal.run(number, hour, answers, claims, root, chain)
      for (const [position, { id }] of leaves.entries()) place.run(number, position, id)
      return true
    })
    return work.immediate()
  }

  #anchorOf(number: number): HourAnchor | null {
    const anchor = this.#statements.anchorOf.get(number)
    if (anchor === undefined || anchor.number - number > FOLLOWING_MAX) return null
    const chain = this.#statements.hour.get(anchor.number)?.chain ?? NO_CHAIN
    const following = this.#statements.between.all(number, anchor.number).map(hourFrom)
    return { network: anchor.network, transaction: anchor.transaction, chain, following }
  }
}

function hourFrom({ number, hour, answers, claims, root, chain }: HourRow): SealedHour {
  return { number, hourMs: hour * HOUR_MS, answers, claims, root, chain }
}

function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}
