import type Database from 'better-sqlite3'
import type { FileInspection, FileKind, OpenedFile } from './sqlite-file.ts'
import { checkTable, inspectSqliteFile, openSqliteFile } from './sqlite-file.ts'

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

/**
 * Opens the hashes of all sold answers and of all claims in the data directory.
 * @throws OperatingError if the file cannot be used
 */
export function openProofFile(path: string, nowMs: number): OpenedFile<Database.Database> {
  return openSqliteFile(path, kind, nowMs)
}

export function inspectProofFile(path: string): FileInspection<unknown> {
  return inspectSqliteFile(path, kind.migrations, (db, version) =>
    checkTable(db, version < LEAVES_SCHEMA ? 'answers' : 'leaves'),
  )
}
