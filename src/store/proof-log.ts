import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import type { AnswerProof, AnswerProofs, SealedHour } from '../domain/answer-proof.ts'
import { chainValue } from '../domain/answer-proof.ts'
import { BoundedMap } from '../domain/bounded-map.ts'
import { MerkleTree } from '../domain/merkle-tree.ts'
import type { FileInspection, FileKind } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'

const HOUR_MS = 3_600_000
/** Trees of hours that were asked for lately; one of 10,000 answers has 640 kB. */
const TREES_KEPT_MAX = 8

const kind: FileKind<Database.Database> = {
  name: 'proofs',
  isCheckedWhole: true,
  migrations: [
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
  ],
  use: (db) => db,
}

export const SCHEMA_VERSION = kind.migrations.length

type HourRow = {
  readonly hour: number
  readonly answers: number
  readonly root: Buffer
  readonly chain: Buffer
}

/**
 * The hashes of all answers that were sold, by hour, with the root of each hour in a chain. What was sealed once is never
 * changed, so nobody, the operator included, can add an answer to a past hour or remove one unnoticed.
 */
export class ProofLog implements AnswerProofs {
  /** New path of a damaged file, in whose place this one was begun; null for none. */
  readonly setAside: string | null
  readonly #db: Database.Database
  readonly #statements
  readonly #trees = new BoundedMap<number, MerkleTree>(TREES_KEPT_MAX)

  /** @throws OperatingError if the file cannot be used */
  constructor(path: string, nowMs: number) {
    const { db, setAside } = openSqliteFile(path, kind, nowMs)
    this.#db = db
    this.setAside = setAside
    this.#statements = {
      find: db.prepare<[Uint8Array], { hour: number; position: number }>(
        'SELECT hour, position FROM answers WHERE digest = ?',
      ),
      add: db.prepare<[number, number, Uint8Array]>(
        `INSERT OR IGNORE INTO answers
           SELECT ?, coalesce((SELECT max(position) + 1 FROM answers WHERE hour = ?), 0), ?`,
      ),
      digests: db
        .prepare<[number], Buffer>('SELECT digest FROM answers WHERE hour = ? ORDER BY position')
        .pluck(),
      unsealed: db
        .prepare<[number, number], number>(
          'SELECT DISTINCT hour FROM answers WHERE hour > ? AND hour < ? ORDER BY hour',
        )
        .pluck(),
      last: db.prepare<[number], HourRow>(
        'SELECT * FROM hours WHERE hour < ? ORDER BY hour DESC LIMIT 1',
      ),
      hour: db.prepare<[number], HourRow>('SELECT * FROM hours WHERE hour = ?'),
      page: db.prepare<[number, number], HourRow>(
        'SELECT * FROM hours WHERE hour < ? ORDER BY hour DESC LIMIT ?',
      ),
      seal: db.prepare<[number, number, Uint8Array, Uint8Array]>(
        'INSERT INTO hours VALUES (?, ?, ?, ?)',
      ),
    }
  }

  static inspect(path: string): FileInspection<unknown> {
    return inspectSqliteFile(path, kind.migrations, (db) => checkTable(db, 'answers'))
  }

  /**
   * Adds a sold answer to the hour of `nowMs`; an answer that was added before is not added again. A clock that was set
   * back adds to the newest hour.
   * @param digest SHA-256 of the body
   */
  add(digest: Uint8Array, nowMs: number): void {
    this.seal(nowMs)
    const newest = this.#statements.last.get(Number.MAX_SAFE_INTEGER)?.hour
    const hour = Math.max(hourOf(nowMs), newest === undefined ? 0 : newest + 1)
    this.#statements.add.run(hour, hour, digest)
  }

  proofOf(digest: Uint8Array, nowMs: number): AnswerProof | null {
    this.seal(nowMs)
    const found = this.#statements.find.get(digest)
    if (found === undefined) return null
    const hour = this.#statements.hour.get(found.hour)
    if (hour === undefined) return { state: 'open', hourMs: found.hour * HOUR_MS }
    return {
      state: 'sealed',
      hour: sealedHour(hour),
      before: this.#chainBefore(found.hour),
      proof: this.#treeOf(found.hour).proof(found.position),
    }
  }

  hours(beforeMs: number, countMax: number, nowMs: number): readonly SealedHour[] {
    this.seal(nowMs)
    return this.#statements.page.all(hourOf(beforeMs), countMax).map(sealedHour)
  }

  /** Seals every hour that has ended. */
  seal(nowMs: number): void {
    const newest = this.#statements.last.get(Number.MAX_SAFE_INTEGER)?.hour ?? -1
    const ended = this.#statements.unsealed.all(newest, hourOf(nowMs))
    if (ended.length === 0) return
    this.#db
      .transaction(() => {
        for (const hour of ended) {
          const { root } = this.#treeOf(hour)
          const answers = this.#statements.digests.all(hour).length
          const chain = chainValue(
            this.#chainBefore(hour),
            { hourMs: hour * HOUR_MS, root },
            sha256,
          )
          this.#statements.seal.run(hour, answers, root, chain)
        }
      })
      .immediate()
  }

  close(): void {
    this.#db.close()
  }

  #chainBefore(hour: number): Buffer {
    return this.#statements.last.get(hour)?.chain ?? Buffer.alloc(32)
  }

  /** Of an hour that has ended. */
  #treeOf(hour: number): MerkleTree {
    const held = this.#trees.get(hour)
    if (held !== undefined) return held
    const tree = new MerkleTree(this.#statements.digests.all(hour), sha256)
    this.#trees.set(hour, tree)
    return tree
  }
}

function sealedHour({ hour, answers, root, chain }: HourRow): SealedHour {
  return { hourMs: hour * HOUR_MS, answers, root, chain }
}

function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS)
}

function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}
