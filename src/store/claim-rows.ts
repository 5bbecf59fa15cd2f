import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type Database from 'better-sqlite3'
import type { ClaimFamily, ResolvedClaim, StoredClaim } from '../domain/track-record.ts'
import { claimFamilies, claimName, familyOf } from '../domain/track-record.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How long resolved claims are kept. */
const KEPT_MS = 90 * DAY_MS

/** Claims of one family and one day of their making that were resolved in one hour, in order. */
type Place = { readonly family: number; readonly day: number; readonly hour: number }

type ClaimRow = { readonly body: Buffer; readonly crc: number }

export const createClaimTable = `CREATE TABLE claims (
  family INTEGER NOT NULL, day INTEGER NOT NULL, hour INTEGER NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL,
  PRIMARY KEY (family, day, hour)
) STRICT, WITHOUT ROWID`

/**
 * Resolved claims on disk. The hour of the resolution is a row with the compressed JSON of its claims: of 230 coins
 * about 14,000 claims and 0.9 MB a day.
 */
export class ClaimRows {
  readonly #get: Database.Statement<[number, number, number], ClaimRow>
  readonly #put: Database.Statement<[number, number, number, Buffer, number]>
  readonly #remove: Database.Statement<[number]>

  constructor(db: Database.Database) {
    this.#get = db.prepare('SELECT body, crc FROM claims WHERE family = ? AND day = ? AND hour = ?')
    this.#put = db.prepare(
      'INSERT INTO claims (family, day, hour, body, crc) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body, crc = excluded.crc',
    )
    this.#remove = db.prepare('DELETE FROM claims WHERE day < ?')
  }

  /** Adds claims; those that are stored already, from before a crash, are stored once. Call within a transaction. */
  add(claims: readonly ResolvedClaim[]): void {
    const rows = new Map<string, { readonly place: Place; readonly claims: ResolvedClaim[] }>()
    for (const claim of claims) {
      const place = placeOf(claim)
      const name = `${place.family} ${place.day} ${place.hour}`
      const row = rows.get(name) ?? { place, claims: [] }
      row.claims.push(claim)
      rows.set(name, row)
    }
    for (const { place, claims: added } of rows.values()) {
      const { family, day, hour } = place
      const stored = claimsIn(this.#get.get(family, day, hour)) ?? []
      const known = new Set(stored.map(claimName))
      const all = [...stored, ...added.filter((claim) => !known.has(claimName(claim)))]
      const body = deflateRawSync(JSON.stringify(all))
      this.#put.run(family, day, hour, body, crc32(body))
    }
  }

  /** Removes claims that were made more than 90 days before. */
  retain(nowMs: number): void {
    this.#remove.run(Math.floor((nowMs - KEPT_MS) / DAY_MS))
  }
}

/**
 * Resolved claims of a family that were made on one day, by UTC and the venue's clock, in the order of resolution. One
 * that was resolved again after a crash, in a later hour, is read as it was first.
 */
export function readClaims(
  db: Database.Database,
  family: ClaimFamily,
  dayMs: number,
): readonly StoredClaim[] {
  const seen = new Set<string>()
  return db
    .prepare<[number, number], ClaimRow>(
      'SELECT body, crc FROM claims WHERE family = ? AND day = ? ORDER BY hour',
    )
    .all(claimFamilies.indexOf(family), Math.floor(dayMs / DAY_MS))
    .flatMap((row) => claimsIn(row) ?? [])
    .filter((claim) => {
      const before = seen.size
      return seen.add(claimName(claim)).size > before
    })
    .map((claim, sequence) => ({ ...claim, sequence }))
}

/** @returns null for no row, or a damaged one, which counts as never written */
function claimsIn(row: ClaimRow | undefined): readonly ResolvedClaim[] | null {
  if (row === undefined || crc32(row.body) !== row.crc) return null
  return JSON.parse(inflateRawSync(row.body).toString('utf8')) as ResolvedClaim[]
}

function placeOf({ rule, madeAtMs, resolvedAtMs }: ResolvedClaim): Place {
  return {
    family: claimFamilies.indexOf(familyOf(rule)),
    day: Math.floor(madeAtMs / DAY_MS),
    hour: Math.floor(resolvedAtMs / HOUR_MS),
  }
}
