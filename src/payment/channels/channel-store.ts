import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import type { ChannelConfig, ChannelState, Claim } from './channel.ts'

/** State of a channel at the last synchronisation and its accepted vouchers. */
export type Channel = ChannelState & {
  readonly id: Hex
  readonly config: ChannelConfig
  /** Total of all sales, claimed or not. */
  readonly charged: bigint
  /** Signature of the voucher for `charged`; null if this store has none. */
  readonly signature: Hex | null
  /** Time of the oldest unclaimed voucher; null if all are claimed. */
  readonly unclaimedSinceMs: number | null
  /** Nonce of a submitted refund: no sales until the chain has a higher nonce. */
  readonly refundSent: bigint | null
  /** Time of the last synchronisation. */
  readonly syncedMs: number
}

/** A voucher to be recorded. */
export type VoucherSale = {
  readonly channelId: Hex
  /** Total that the payer has paid with it. */
  readonly cumulative: bigint
  /** Amount of this sale. */
  readonly amount: bigint
  readonly signature: Hex
  /** Identifies the payment. */
  readonly hash: string
  /** Deposit transaction of this payment, or empty. */
  readonly transaction: string
}

export type PastSale = Pick<VoucherSale, 'hash' | 'transaction'> & { readonly soldMs: number }

/** `counted`: the total has changed. `uncovered`: the deposit is too small, or a withdrawal is pending. */
export type SaleResult = 'committed' | 'counted' | 'uncovered'

const SCHEMA_VERSION = 1
/** SQLite blocks the gateway thread while it waits for another program that holds the file. */
const LOCK_WAIT_MS_MAX = 500
/** As long as the ledger may ask for an outcome, and a day more. */
const SALE_KEPT_MS = 8 * 86_400_000

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

type Row = {
  readonly id: Hex
  readonly config: string
  readonly charged: string
  readonly signature: Hex | null
  readonly unclaimed_since_ms: number | null
  readonly balance: string
  readonly claimed: string
  readonly withdraw_requested_s: number
  readonly refund_nonce: string
  readonly refund_sent: string | null
  readonly synced_ms: number
}

type SaleRow = {
  readonly hash: string
  readonly transaction_hash: string
  readonly sold_ms: number
}

/**
 * The newest voucher of every channel, on disk before its answer is sent. One writing process: the lock of the data
 * directory keeps others out.
 */
export class ChannelStore {
  readonly #db: Database.Database
  readonly #find: Database.Statement<[string], Row>
  readonly #all: Database.Statement<[], Row>
  readonly #unclaimed: Database.Statement<[], Row>
  readonly #mirror: Database.Statement<[Record<string, unknown>]>
  readonly #charge: Database.Statement<[Record<string, unknown>]>
  readonly #refund: Database.Statement<[string | null, string]>
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
    this.#mirror = this.#db.prepare(`
      INSERT INTO channels VALUES (@id, @config, @charged, NULL, @unclaimedSinceMs, @balance, @claimed,
        @withdrawRequestedAtSeconds, @refundNonce, NULL, @nowMs)
      ON CONFLICT DO UPDATE SET charged = excluded.charged, balance = excluded.balance,
        signature = CASE charged WHEN excluded.charged THEN signature END, claimed = excluded.claimed, withdraw_requested_s = excluded.withdraw_requested_s,
        refund_nonce = excluded.refund_nonce, synced_ms = excluded.synced_ms,
        unclaimed_since_ms = excluded.unclaimed_since_ms`)
    this.#charge = this.#db.prepare(`
      UPDATE channels SET charged = @cumulative, signature = @signature,
        unclaimed_since_ms = coalesce(unclaimed_since_ms, @nowMs) WHERE id = @channelId`)
    this.#refund = this.#db.prepare('UPDATE channels SET refund_sent = ? WHERE id = ?')
    this.#sell = this.#db.prepare(
      'INSERT INTO sales VALUES (@channelId, @cumulative, @hash, @transaction, @nowMs)',
    )
    this.#sale = this.#db.prepare(
      'SELECT hash, transaction_hash, sold_ms FROM sales WHERE channel_id = ? AND cumulative = ?',
    )
    this.#sweep = this.#db.prepare(`
      DELETE FROM sales WHERE rowid IN (SELECT rowid FROM sales WHERE sold_ms < ? ORDER BY sold_ms LIMIT ?)`)
  }

  find(id: Hex): Channel | null {
    const row = this.#find.get(id)
    return row === undefined ? null : channelOf(row)
  }

  /** Stores the state on chain. An unknown channel without money is not stored. */
  mirror(id: Hex, config: ChannelConfig, state: ChannelState, nowMs: number): Channel | null {
    const before = this.find(id)
    if (before === null && state.balance === 0n) return null
    const charged = max(before?.charged ?? 0n, state.claimed)
    this.#mirror.run({
      id,
      config: JSON.stringify(config),
      charged: charged.toString(),
      balance: state.balance.toString(),
      claimed: state.claimed.toString(),
      withdrawRequestedAtSeconds: state.withdrawRequestedAtSeconds,
      refundNonce: state.refundNonce.toString(),
      unclaimedSinceMs: charged > state.claimed ? (before?.unclaimedSinceMs ?? nowMs) : null,
      nowMs,
    })
    return this.find(id)
  }

  /** Records a voucher: durable when this returns `committed`, unchanged otherwise. */
  commit(sale: VoucherSale, nowMs: number): SaleResult {
    return this.#db
      .transaction((): SaleResult => {
        const channel = this.find(sale.channelId)
        assert(channel !== null, 'a sale needs a stored channel')
        if (!continues(channel, sale)) return 'counted'
        if (!covers(channel, sale.cumulative)) return 'uncovered'
        const row = { ...sale, cumulative: sale.cumulative.toString(), nowMs }
        this.#charge.run(row)
        this.#sell.run(row)
        return 'committed'
      })
      .immediate()
  }

  /** Blocks sales during a refund. null: the refund was never sent. */
  refunding(id: Hex, nonce: bigint | null): void {
    this.#refund.run(nonce?.toString() ?? null, id)
  }

  /** The sale with exactly this total. */
  sale(channelId: Hex, cumulative: bigint): PastSale | null {
    const row = this.#sale.get(channelId, cumulative.toString())
    if (row === undefined) return null
    return { hash: row.hash, transaction: row.transaction_hash, soldMs: row.sold_ms }
  }

  channels(): readonly Channel[] {
    return this.#all.all().map(channelOf)
  }

  /** Channels with an unclaimed amount, oldest first. */
  unclaimed(): readonly Channel[] {
    return this.#unclaimed.all().map(channelOf)
  }

  /** Deletes up to `rowsMax` expired sales. */
  sweep(nowMs: number, rowsMax: number): void {
    this.#sweep.run(nowMs - SALE_KEPT_MS, rowsMax)
  }

  close(): void {
    this.#db.close()
  }
}

/**
 * Whether a voucher continues the charged total. Without a stored voucher any total from the claimed one on is
 * accepted.
 */
export function continues(
  { charged, signature }: Channel,
  { cumulative, amount }: Pick<VoucherSale, 'cumulative' | 'amount'>,
): boolean {
  const base = cumulative - amount
  return signature === null ? base >= charged : base === charged
}

/** Whether the deposit covers a voucher. Money under withdrawal does not count. */
export function covers(channel: Channel, cumulative: bigint): boolean {
  return cumulative <= channel.balance && !isLeaving(channel)
}

/** A withdrawal was requested, or a refund is in progress. */
export function isLeaving({
  withdrawRequestedAtSeconds,
  refundSent,
  refundNonce,
}: Channel): boolean {
  return withdrawRequestedAtSeconds !== 0 || refundSent === refundNonce
}

/** The due claim of a channel, or null. A withdrawn amount cannot be claimed. */
export function claimOf(channel: Channel): Claim | null {
  const { id, config, charged, balance, claimed, signature } = channel
  const total = min(charged, balance)
  if (signature === null || total <= claimed) return null
  return { config, voucher: { channelId: id, cumulative: charged, signature }, total }
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
    const channels = db.prepare<[], Row>('SELECT * FROM channels').all().map(channelOf)
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

function channelOf(row: Row): Channel {
  return {
    id: row.id,
    config: JSON.parse(row.config) as ChannelConfig,
    charged: BigInt(row.charged),
    signature: row.signature,
    unclaimedSinceMs: row.unclaimed_since_ms,
    balance: BigInt(row.balance),
    claimed: BigInt(row.claimed),
    withdrawRequestedAtSeconds: row.withdraw_requested_s,
    refundNonce: BigInt(row.refund_nonce),
    refundSent: row.refund_sent === null ? null : BigInt(row.refund_sent),
    syncedMs: row.synced_ms,
  }
}

function min(a: bigint, b: bigint): bigint {
  return a > b ? b : a
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
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
