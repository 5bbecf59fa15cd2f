import type Database from 'better-sqlite3'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { ClaimRows } from './claim-rows.ts'
import type { BlockKind } from './history-block.ts'
import {
  BLOCK_BYTES,
  BLOCK_NUMBERS,
  blockCrc,
  blockKey,
  blockKinds,
  blockNumber,
  blockOfKey,
  COIN_IDS_MAX,
  emptyBlock,
  firstKey,
  KEY_MAX,
  keptMsOf,
  overlay,
} from './history-block.ts'
import { coinCrc, historyMigrations, shardNames, shardOf } from './history-schema.ts'
import type { OpenedFile } from './sqlite-file.ts'
import { checkTable, openSqliteFile, releaseBlob } from './sqlite-file.ts'
import type { WalCheckpointer } from './wal-checkpoint.ts'
import { WalLog } from './wal-checkpoint.ts'

/** 1 GB, six times the history that analyses read. A larger file is a defect, unless more days are kept. */
const PAGES_MAX = 262_144
const PAGES_MAX_DAYS = 40

/** Blocks whose checksum one slice of the check reads. */
const CHECKED_BLOCKS_PER_SLICE = 32

/** Coins whose old blocks one slice removes. */
const COINS_PER_SLICE = 8

const KINDS: readonly BlockKind[] = Object.values(blockKinds)

/** New rows for one block. */
export type Patch = {
  readonly coin: string
  readonly kind: BlockKind
  readonly number: number
  /** Offset of the first of them in the block. */
  readonly at: number
  /** From the first of them on, NaN but for them. */
  readonly rows: Float64Array
}

type StoredBlock = {
  readonly number: number
  readonly block: Float64Array
}

type BlockRow = { readonly key: number; readonly body: Buffer; readonly crc: number }

/** Buffer for the merge of one block. */
const merged = emptyBlock()
const mergedBytes = Buffer.from(merged.buffer)

type Shard = {
  readonly name: string
  readonly get: Database.Statement<[number], BlockRow>
  readonly range: Database.Statement<[number, number], BlockRow>
  readonly after: Database.Statement<[number], BlockRow>
  readonly countOutside: Database.Statement<[number], number>
  readonly put: Database.Statement<[number, Buffer, number]>
  readonly remove: Database.Statement<[number, number]>
}

/**
 * Blocks of history on disk. Every method may throw what SQLite throws; a transaction that failed has
 * changed nothing.
 */
export class HistoryDb {
  readonly #db: Database.Database
  readonly #log: WalLog
  readonly #shards: readonly Shard[]
  readonly #claims: ClaimRows
  readonly #coinIds = new Map<string, number>()
  #lastCoinId = 0
  /** Keys of damaged blocks. */
  readonly #damaged = new Set<number>()
  #damagedOtherwise = 0

  private constructor(db: Database.Database, log: WalLog, pagesMax: number) {
    this.#db = db
    this.#log = log
    db.pragma(`max_page_count = ${pagesMax}`)
    checkTable(db, 'coin')
    this.#shards = shardNames.map((name) => prepareShard(db, name))
    this.#claims = new ClaimRows(db)
    const coins = db.prepare<[], { id: number; name: string; crc: number }>('SELECT * FROM coin')
    for (const { id, name, crc } of coins.all()) {
      if (id <= COIN_IDS_MAX) this.#lastCoinId = Math.max(this.#lastCoinId, id)
      if (crc === coinCrc(id, name)) this.#coinIds.set(name, id)
      else this.#damagedOtherwise += 1
    }
  }

  /** @throws OperatingError when a file that may be whole cannot be used: busy, full, forbidden. */
  static open(
    path: string,
    nowMs: number,
    {
      days = 0,
      pagesMax = PAGES_MAX * Math.max(1, Math.ceil(days / PAGES_MAX_DAYS)),
      checkpointer,
    }: {
      days?: number | undefined
      pagesMax?: number | undefined
      checkpointer?: WalCheckpointer | undefined
    } = {},
  ): OpenedFile<HistoryDb> {
    return openSqliteFile(
      path,
      {
        name: 'history',
        migrations: historyMigrations,
        isCheckedWhole: false,
        use: (db, place) => new HistoryDb(db, new WalLog(db, place, checkpointer), pagesMax),
      },
      nowMs,
    )
  }

  /** Damaged blocks and names of coins. They count as never written. */
  get damaged(): number {
    return this.#damaged.size + this.#damagedOtherwise
  }

  /** Coins and measures with blocks. */
  names(): readonly string[] {
    return [...this.#coinIds.keys()]
  }

  /**
   * Blocks of a series from one number to another, ascending, without damaged ones. The caller frees each by
   * {@link releaseBlob}.
   */
  read(coin: string, kind: BlockKind, fromNumber: number, toNumber: number): StoredBlock[] {
    const id = this.#coinIds.get(coin)
    if (id === undefined) return []
    const [from, to] = [blockKey(id, kind, fromNumber), blockKey(id, kind, toNumber)]
    const found: StoredBlock[] = []
    for (const row of this.#shard(id).range.all(from, to)) {
      if (!this.#isWhole(row)) continue
      const block = new Float64Array(row.body.buffer, row.body.byteOffset, BLOCK_NUMBERS)
      found.push({ number: row.key - blockKey(id, kind, 0), block })
    }
    return found
  }

  /** Puts new rows over the stored ones: all of them or none. */
  merge(patches: readonly Patch[]): void {
    const added = new Map<string, number>()
    this.#log.write(() => {
      for (const patch of patches) {
        const id = this.#idOf(patch.coin, added)
        const { get, put } = this.#shard(id)
        const key = blockKey(id, patch.kind, patch.number)
        const row = get.get(key)
        if (row !== undefined && this.#isWhole(row)) mergedBytes.set(row.body)
        else merged.fill(Number.NaN)
        if (row !== undefined) releaseBlob(row.body)
        overlay(merged, patch)
        put.run(key, mergedBytes, blockCrc(key, mergedBytes))
      }
    })
    for (const [coin, id] of added) {
      this.#coinIds.set(coin, id)
      this.#lastCoinId = id
    }
  }

  /** Adds resolved claims: all of them or none. */
  addClaims(claims: readonly ResolvedClaim[]): void {
    this.#log.write(() => this.#claims.add(claims))
  }

  /**
   * Removes, in slices, claims and blocks that ended before what is kept of them at `nowMs`.
   * @param days kept beyond what analyses read
   */
  *retain(nowMs: number, days: number): Generator<void> {
    for (let fromId = 1; fromId <= this.#lastCoinId; fromId += COINS_PER_SLICE) {
      const toId = Math.min(fromId + COINS_PER_SLICE - 1, this.#lastCoinId)
      this.#log.write(() => {
        if (fromId === 1) this.#claims.retain(nowMs)
        for (let id = fromId; id <= toId; id += 1) {
          for (const kind of KINDS) {
            const first = Math.max(0, blockNumber(kind, nowMs - keptMsOf(kind, days)))
            this.#shard(id).remove.run(blockKey(id, kind, 0), blockKey(id, kind, first))
          }
        }
      })
      yield
    }
  }

  /**
   * Checks the structure of every table and the checksum of every block, in slices.
   * @throws what {@link isDamage} knows, for a structure
   */
  *verify(): Generator<void> {
    checkTable(this.#db, 'claims')
    yield
    for (const [at, shard] of this.#shards.entries()) {
      checkTable(this.#db, shard.name)
      this.#damagedOtherwise += shard.countOutside.get(KEY_MAX) ?? 0
      yield
      let rows: readonly BlockRow[] = []
      let lastKey = 0
      do {
        rows = shard.after.all(lastKey)
        lastKey = rows.at(-1)?.key ?? lastKey
        for (const row of rows) {
          if (!this.#isWhole(row) || !isPlaced(row.key, at)) this.#damaged.add(row.key)
          releaseBlob(row.body)
        }
        yield
      } while (rows.length === CHECKED_BLOCKS_PER_SLICE)
    }
  }

  /** Waits for the disk. */
  close(): void {
    this.#log.close()
  }

  /** Checks the checksum, and counts a damaged block. */
  #isWhole({ key, body, crc }: BlockRow): boolean {
    if (body.byteLength === BLOCK_BYTES && blockCrc(key, body) === crc) return true
    this.#damaged.add(key)
    return false
  }

  #shard(coinId: number): Shard {
    return this.#shards[shardOf(coinId)] as Shard
  }

  #idOf(coin: string, added: Map<string, number>): number {
    const known = this.#coinIds.get(coin) ?? added.get(coin)
    if (known !== undefined) return known
    const id = this.#lastCoinId + added.size + 1
    added.set(coin, id)
    this.#db
      .prepare('INSERT INTO coin (id, name, crc) VALUES (?, ?, ?)')
      .run(id, coin, coinCrc(id, coin))
    // Blocks that a coin with a damaged name left under this id.
    this.#shard(id).remove.run(firstKey(id), firstKey(id + 1))
    return id
  }
}

function prepareShard(db: Database.Database, name: string): Shard {
  const select = `SELECT key, body, crc FROM ${name}`
  return {
    name,
    get: db.prepare(`${select} WHERE key = ?`),
    range: db.prepare(`${select} WHERE key BETWEEN ? AND ? ORDER BY key`),
    after: db.prepare(
      `${select} WHERE key > ? AND key <= ${KEY_MAX} ORDER BY key LIMIT ${CHECKED_BLOCKS_PER_SLICE}`,
    ),
    countOutside: db
      .prepare<[number], number>(`SELECT count(*) FROM ${name} WHERE key <= 0 OR key > ?`)
      .pluck(),
    put: db.prepare(
      `INSERT INTO ${name} (key, body, crc) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body, crc = excluded.crc`,
    ),
    remove: db.prepare(`DELETE FROM ${name} WHERE key >= ? AND key < ?`),
  }
}

function isPlaced(key: number, shard: number): boolean {
  const place = blockOfKey(key)
  return place !== null && shardOf(place.coinId) === shard
}
