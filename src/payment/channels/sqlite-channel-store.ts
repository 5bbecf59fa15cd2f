import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import { MOVED_VERSION } from '../ledger/sqlite-schema.ts'
import type { ChannelConfig, ChannelState } from './channel.ts'
import type {
  Channel,
  ChannelStore,
  PastSale,
  RefundBegin,
  SaleResult,
  VoucherSale,
} from './channel-store.ts'
import { afterSale, claimOf, mirrored, refundBegin, SALE_KEPT_MS } from './channel-store.ts'
import type { ChannelRow } from './stored-channel.ts'
import { channelOf } from './stored-channel.ts'

export const SCHEMA_VERSION = 1
/** SQLite blocks the gateway thread while it waits for another program that holds the file. */
const LOCK_WAIT_MS_MAX = 500

const schema = `
CREATE TABLE channels (
  id TEXT PRIMARY KEY,
  config TEXT NOT NULL,
  charged TEXT NOT NULL,
  signature TEXT,
  unclaimed_since_ms INTEGER,
  balance TEXT NOT NULL,
  claimed TEXT NOT NULL,
  withdraw_requested_s INTEGER NOT NULL,
  refund_nonce TEXT NOT NULL,
  refund_sent TEXT,
  synced_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX channels_unclaimed ON channels (unclaimed_since_ms) WHERE unclaimed_since_ms IS NOT NULL;
CREATE TABLE sales (
  channel_id TEXT NOT NULL REFERENCES channels (id),
  cumulative TEXT NOT NULL,
  hash TEXT NOT NULL,
  transaction_hash TEXT NOT NULL,
  sold_ms INTEGER NOT NULL,
  PRIMARY KEY (channel_id, cumulative)
) STRICT;
CREATE INDEX sales_age ON sales (sold_ms);
`

type SaleRow = {
  readonly hash: string
  readonly transaction_hash: string
  readonly sold_ms: number
}

/**
 * The newest voucher of every channel, on disk before its answer is sent. One writing process: the lock of the data
 * directory keeps others out.
 */
export class SqliteChannelStore implements ChannelStore {
  readonly #db: Database.Database
  readonly #find: Database.Statement<[string], ChannelRow>
  readonly #all: Database.Statement<[], ChannelRow>
  readonly #unclaimed: Database.Statement<[], ChannelRow>
  readonly #put: Database.Statement<[Record<string, unknown>]>
  readonly #sell: Database.Statement<[Record<string, unknown>]>
  readonly #sale: Database.Statement<[string, string], SaleRow>
  readonly #sweep: Database.Statement<[number, number]>

  /**
   * @param path of the file, or `:memory:`
   * @throws OperatingError if the file cannot be used
   */
  constructor(path: string) {
    this.#db = openDatabase(path)
    this.#find = this.#db.prepare('SELECT * FROM channels WHERE id = ?')
    this.#all = this.#db.prepare('SELECT * FROM channels ORDER BY id')
    this.#unclaimed = this.#db.prepare(
      'SELECT * FROM channels WHERE unclaimed_since_ms IS NOT NULL ORDER BY unclaimed_since_ms',
    )
    this.#put = this.#db.prepare(`
      INSERT INTO channels VALUES (@id, @config, @charged, @signature, @unclaimedSinceMs, @balance,
        @claimed, @withdrawRequestedAtSeconds, @refundNonce, @refundSent, @syncedMs)
      ON CONFLICT DO UPDATE SET charged = excluded.charged, signature = excluded.signature,
        unclaimed_since_ms = excluded.unclaimed_since_ms, balance = excluded.balance,
        claimed = excluded.claimed, withdraw_requested_s = excluded.withdraw_requested_s,
        refund_nonce = excluded.refund_nonce, refund_sent = excluded.refund_sent,
        synced_ms = excluded.synced_ms`)
    this.#sell = this.#db.prepare(
      'INSERT INTO sales VALUES (@channelId, @cumulative, @hash, @transaction, @nowMs)',
    )
    this.#sale = this.#db.prepare(
      'SELECT hash, transaction_hash, sold_ms FROM sales WHERE channel_id = ? AND cumulative = ?',
    )
    this.#sweep = this.#db.prepare(`
      DELETE FROM sales WHERE rowid IN (SELECT rowid FROM sales WHERE sold_ms < ? ORDER BY sold_ms LIMIT ?)`)
  }

  async find(id: Hex): Promise<Channel | null> {
    return this.#found(id)
  }

  async mirror(
    id: Hex,
    config: ChannelConfig,
    state: ChannelState,
    nowMs: number,
  ): Promise<Channel | null> {
    const channel = mirrored(this.#found(id), id, config, state, nowMs)
    if (channel !== null) this.#put.run(rowOf(channel))
    return channel
  }

  async commit(sale: VoucherSale, nowMs: number): Promise<SaleResult> {
    return this.#db
      .transaction((): SaleResult => {
        const channel = this.#found(sale.channelId)
        assert(channel !== null, 'a sale needs a stored channel')
        const after = afterSale(channel, sale, nowMs)
        if (typeof after === 'string') return after
        this.#put.run(rowOf(after))
        this.#sell.run({ ...sale, cumulative: sale.cumulative.toString(), nowMs })
        return 'committed'
      })
      .immediate()
  }

  /** A sale is recorded at once. */
  async supersede(): Promise<void> {}

  async beginRefund(seen: Channel): Promise<RefundBegin> {
    const current = this.#found(seen.id)
    const begin = refundBegin(current, seen)
    if (current !== null && begin === 'begun')
      this.#put.run(rowOf({ ...current, refundSent: current.refundNonce }))
    return begin
  }

  async cancelRefund(id: Hex): Promise<void> {
    const current = this.#found(id)
    if (current !== null) this.#put.run(rowOf({ ...current, refundSent: null }))
  }

  async sale(channelId: Hex, cumulative: bigint): Promise<PastSale | null> {
    const row = this.#sale.get(channelId, cumulative.toString())
    if (row === undefined) return null
    return { hash: row.hash, transaction: row.transaction_hash, soldMs: row.sold_ms }
  }

  async channels(): Promise<readonly Channel[]> {
    return this.#all.all().map(channelOf)
  }

  async unclaimed(): Promise<readonly Channel[]> {
    return this.#unclaimed.all().map(channelOf)
  }

  async sweep(nowMs: number, rowsMax: number): Promise<void> {
    this.#sweep.run(nowMs - SALE_KEPT_MS, rowsMax)
  }

  close(): void {
    this.#db.close()
  }

  #found(id: Hex): Channel | null {
    const row = this.#find.get(id)
    return row === undefined ? null : channelOf(row)
  }
}

/** Result of a read-only inspection. */
export type ChannelsInspection =
  /** The file is new, or a copy without its write-ahead log. */
  | { readonly state: 'empty' }
  | {
      readonly state: 'readable'
      readonly version: number
      readonly channels: number
      /** Signed and unclaimed amount. */
      readonly unclaimed: bigint
    }

/**
 * Reads every page and changes nothing; a service may use the file meanwhile.
 * @throws OperatingError if a service would not start with the file
 */
export function inspectChannels(path: string): ChannelsInspection {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_WAIT_MS_MAX })
    checkWhole(db, path)
    if (versionOf(db) === 0) return { state: 'empty' }
    checkVersion(db, path)
    const channels = db.prepare<[], ChannelRow>('SELECT * FROM channels').all().map(channelOf)
    const unclaimed = channels.reduce((sum, channel) => {
      const claim = claimOf(channel)
      return claim === null ? sum : sum + claim.total - channel.claimed
    }, 0n)
    return { state: 'readable', version: SCHEMA_VERSION, channels: channels.length, unclaimed }
  } catch (cause) {
    throw unusable(path, cause)
  } finally {
    db?.close()
  }
}

function rowOf(channel: Channel): Record<string, unknown> {
  return {
    ...channel,
    config: JSON.stringify(channel.config),
    charged: channel.charged.toString(),
    balance: channel.balance.toString(),
    claimed: channel.claimed.toString(),
    refundNonce: channel.refundNonce.toString(),
    refundSent: channel.refundSent?.toString() ?? null,
  }
}

function openDatabase(path: string): Database.Database {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const db = new Database(path, { timeout: LOCK_WAIT_MS_MAX })
  try {
    // The file contains signed payments.
    if (path !== ':memory:') chmodSync(path, 0o600)
    db.pragma('journal_mode = WAL')
    // A recorded voucher survives a power failure.
    db.pragma('synchronous = FULL')
    checkWhole(db, path)
    if (versionOf(db) === 0) {
      db.transaction(() => {
        db.exec(schema)
        db.pragma(`user_version = ${SCHEMA_VERSION}`)
      }).immediate()
    }
    checkVersion(db, path)
    return db
  } catch (cause) {
    db.close()
    throw unusable(path, cause)
  }
}

function checkWhole(db: Database.Database, path: string): void {
  const verdict = db.pragma('quick_check', { simple: true })
  if (verdict !== 'ok') throw new OperatingError('channels_corrupt', `${path}: ${String(verdict)}`)
}

function checkVersion(db: Database.Database, path: string): void {
  const version = versionOf(db)
  if (version === MOVED_VERSION)
    throw new OperatingError(
      'ledger_moved',
      `${path} was moved to PostgreSQL: its channels are there. Give the database by --ledger.`,
    )
  if (version !== SCHEMA_VERSION)
    throw new OperatingError(
      'channels_version',
      `${path} has schema ${String(version)}; this version of perpscope reads ${SCHEMA_VERSION}.`,
    )
}

function versionOf(db: Database.Database): unknown {
  return db.pragma('user_version', { simple: true })
}

function unusable(path: string, cause: unknown): OperatingError {
  if (cause instanceof OperatingError) return cause
  const trouble = isBusy(cause) ? 'are locked by another program' : 'cannot be used'
  return new OperatingError('channels_unusable', `the channels in ${path} ${trouble}`, { cause })
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')
}
