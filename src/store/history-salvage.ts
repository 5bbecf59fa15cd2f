import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { BlockKind } from './history-block.ts'
import {
  BLOCK_BYTES,
  BLOCK_NUMBERS,
  blockCrc,
  blockKey,
  blockOfKey,
  firstKey,
} from './history-block.ts'
import type { Patch } from './history-db.ts'
import {
  COIN_CRC_SCHEMA,
  coinCrc,
  historyMigrations,
  shardNames,
  shardOf,
} from './history-schema.ts'
import { statPresent } from './present-file.ts'

const BLOCKS_PER_SLICE = 16

type BlockRow = { readonly key: number; readonly body: Buffer; readonly crc: number }

/** Reads a range of blocks from its start and from its end. */
type Shard = Record<'ascending' | 'descending', Database.Statement<[number, number], BlockRow>>

/**
 * The intact blocks of a history file that was set aside. SQLite's `.recover` is not in its library. Checksums prove
 * blocks and names; unreadable parts are left out without an error.
 */
export class HistorySalvage {
  readonly #db: Database.Database
  readonly #path: string
  readonly #coinIds: ReadonlyMap<string, number>
  /** null for an unreadable table. */
  readonly #shards = new Map<number, Shard | null>()
  readonly #slices: Generator<readonly Patch[]>
  #next: readonly Patch[] | null = null
  #takenBlocks = 0

  private constructor(db: Database.Database, path: string) {
    this.#db = db
    this.#path = path
    this.#coinIds = coinIdsOf(db)
    this.#slices = this.#all()
  }

  /** @returns null for an unreadable file, or one of a schema that cannot be salvaged */
  static open(path: string): HistorySalvage | null {
    let db: Database.Database | undefined
    try {
      db = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 })
      // A page may be found damaged by a migration, which leaves the file as it was.
      const version = Number(db.pragma('user_version', { simple: true }))
      if (version >= COIN_CRC_SCHEMA && version <= historyMigrations.length)
        return new HistorySalvage(db, path)
    } catch (cause) {
      if (!(cause instanceof Database.SqliteError)) throw cause
    }
    db?.close()
    return null
  }

  get takenBlocks(): number {
    return this.#takenBlocks
  }

  names(): Iterable<string> {
    return this.#coinIds.keys()
  }

  /** Blocks of a series from one number to another, in any order. */
  read(coin: string, kind: BlockKind, fromNumber: number, toNumber: number): readonly Patch[] {
    const id = this.#coinIds.get(coin)
    if (id === undefined) return []
    const [from, to] = [blockKey(id, kind, fromNumber), blockKey(id, kind, toNumber)]
    return [...this.#range(coin, id, from, to)].flat()
  }

  /** The next blocks, the same ones until {@link taken} is called; null at the end. */
  next(): readonly Patch[] | null {
    this.#next ??= this.#slices.next().value ?? null
    return this.#next
  }

  taken(): void {
    this.#takenBlocks += this.#next?.length ?? 0
    this.#next = null
  }

  close(): void {
    this.#db.close()
  }

  *#all(): Generator<readonly Patch[]> {
    if (!hasRoomTwice(this.#path)) return
    for (const [coin, id] of this.#coinIds)
      yield* this.#range(coin, id, firstKey(id), firstKey(id + 1) - 1)
  }

  /** Reads from both ends, because a lost page ends a scan. */
  *#range(coin: string, id: number, from: number, to: number): Generator<readonly Patch[]> {
    const shard = this.#shard(shardOf(id))
    if (shard === null) return
    let [first, last] = [from, to]
    for (const order of ['ascending', 'descending'] as const) {
      for (let isReadable = true; isReadable; ) {
        const rows: BlockRow[] = []
        isReadable = isRead(() => {
          for (const row of shard[order].iterate(first, last)) rows.push(row)
        })
        yield rows.flatMap((row) => patchesOf(coin, row))
        if (isReadable && rows.length < BLOCKS_PER_SLICE) return
        const key = rows.at(-1)?.key
        // Damaged keys may be out of order, and must not repeat the scan.
        if (key === undefined || key < first || key > last) break
        if (order === 'ascending') first = key + 1
        else last = key - 1
      }
    }
  }

  #shard(number: number): Shard | null {
    let shard = this.#shards.get(number)
    if (shard === undefined) {
      shard = null
      isRead(() => {
        shard = prepareShard(this.#db, shardNames[number] ?? '')
      })
      this.#shards.set(number, shard)
    }
    return shard
  }
}

function prepareShard(db: Database.Database, name: string): Shard {
  const inOrder = (order: string) =>
    db.prepare<[number, number], BlockRow>(
      `SELECT key, body, crc FROM ${name} WHERE key BETWEEN ? AND ? ORDER BY key ${order} LIMIT ${BLOCKS_PER_SLICE}`,
    )
  return { ascending: inOrder('ASC'), descending: inOrder('DESC') }
}

function coinIdsOf(db: Database.Database): ReadonlyMap<string, number> {
  const ids = new Map<string, number>()
  for (const order of ['ASC', 'DESC']) {
    const coins = db.prepare<[], { id: number; name: string; crc: number }>(
      `SELECT id, name, crc FROM coin ORDER BY id ${order}`,
    )
    isRead(() => {
      for (const { id, name, crc } of coins.iterate())
        if (crc === coinCrc(id, name)) ids.set(name, id)
    })
  }
  return ids
}

/** @returns nothing for a damaged block */
function patchesOf(coin: string, { key, body, crc }: BlockRow): readonly Patch[] {
  const place = blockOfKey(key)
  if (place === null || body.byteLength !== BLOCK_BYTES || blockCrc(key, body) !== crc) return []
  const rows = new Float64Array(BLOCK_NUMBERS)
  new Uint8Array(rows.buffer).set(body)
  return [{ coin, kind: place.kind, number: place.number, rows }]
}

/** The ledger is on the same disk, which must not be filled for history. */
function hasRoomTwice(path: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(path))
  const bytes = statPresent(path)?.size ?? 0
  return bavail * bsize > 2 * bytes
}

function isRead(task: () => void): boolean {
  try {
    task()
    return true
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause
    return false
  }
}
