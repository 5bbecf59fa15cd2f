import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { Hex } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import type { ChannelConfig, ChannelState, Claim } from './channel.ts'

/** A channel as the chain last showed it, and what its payer has signed for since. */
export type Channel = ChannelState & {
  readonly id: Hex
  readonly config: ChannelConfig
  /** All that was ever sold on it, claimed or not. */
  readonly charged: bigint
  /** Of the voucher over `charged`; null where none was taken by this store. */
  readonly signature: Hex | null
  /** When the oldest voucher came that is not claimed; null when all is. */
  readonly unclaimedSinceMs: number | null
  /** The number of a refund that was handed to the chain: in the way of sales until the chain counts past it. */
  readonly refundSent: bigint | null
  /** When the chain was last asked. */
  readonly syncedMs: number
}

/** A voucher that is about to be taken. */
export type VoucherSale = {
  readonly channelId: Hex
  /** What the payer will have paid in all with it. */
  readonly cumulative: bigint
  /** What this sale adds. */
  readonly amount: bigint
  readonly signature: Hex
  /** Names the payment. */
  readonly hash: string
  /** Of the deposit that came with it, else empty. */
  readonly transaction: string
}

export type PastSale = Pick<VoucherSale, 'hash' | 'transaction'> & { readonly soldMs: number }

/** `counted`: the channel stands elsewhere by now. `uncovered`: its deposit does not suffice, or is leaving. */
export type SaleResult = 'committed' | 'counted' | 'uncovered'

const SCHEMA_VERSION = 1
/** A predecessor that is just exiting may still hold the lock. */
const LOCK_WAIT_MS_MAX = 500
/** As long as the ledger may ask what became of a payment, and a day. */
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
 * The newest voucher of every channel, on disk before its answer leaves: a voucher that is lost is money
 * that is lost. One file, one process: the lock is exclusive.
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

  /** @param path of the file, or `:memory:`. @throws OperatingError when it cannot be trusted */
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

  /** Notes what the chain says. A channel without money that was never used here is not remembered. */
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

  /** Takes a voucher: durable when this returns `committed`, untouched otherwise. */
  commit(sale: VoucherSale, nowMs: number): SaleResult {
    return this.#db
      .transaction((): SaleResult => {
        const channel = this.find(sale.channelId)
        assert(channel !== null, 'a sale is on a channel that the chain has shown')
        if (!continues(channel, sale)) return 'counted'
        if (!covers(channel, sale.cumulative)) return 'uncovered'
        const row = { ...sale, cumulative: sale.cumulative.toString(), nowMs }
        this.#charge.run(row)
        this.#sell.run(row)
        return 'committed'
      })
      .immediate()
  }

  /** Nothing is sold on a channel while money leaves it. null: the refund never went out. */
  refunding(id: Hex, nonce: bigint | null): void {
    this.#refund.run(nonce?.toString() ?? null, id)
  }

  /** What was sold with the voucher over just this sum. */
  sale(channelId: Hex, cumulative: bigint): PastSale | null {
    const row = this.#sale.get(channelId, cumulative.toString())
    if (row === undefined) return null
    return { hash: row.hash, transaction: row.transaction_hash, soldMs: row.sold_ms }
  }

  channels(): readonly Channel[] {
    return this.#all.all().map(channelOf)
  }

  /** Those with something to claim, the oldest first. */
  unclaimed(): readonly Channel[] {
    return this.#unclaimed.all().map(channelOf)
  }

  /** Forgets up to `rowsMax` sales that nobody may ask about any more. */
  sweep(nowMs: number, rowsMax: number): void {
    this.#sweep.run(nowMs - SALE_KEPT_MS, rowsMax)
  }

  close(): void {
    this.#db.close()
  }
}

/** A channel of which no voucher is known here goes on where its payer says, not below what is claimed. */
export function continues(
  { charged, signature }: Channel,
  { cumulative, amount }: Pick<VoucherSale, 'cumulative' | 'amount'>,
): boolean {
  const base = cumulative - amount
  return signature === null ? base >= charged : base === charged
}

/** Whether money is there for a voucher. What is on its way back to the payer is not counted on. */
export function covers(channel: Channel, cumulative: bigint): boolean {
  return cumulative <= channel.balance && !isLeaving(channel)
}

/** Its payer has announced a withdrawal, or a refund is under way. */
export function isLeaving({
  withdrawRequestedAtSeconds,
  refundSent,
  refundNonce,
}: Channel): boolean {
  return withdrawRequestedAtSeconds !== 0 || refundSent === refundNonce
}

/** The claim that is due on a channel; null when nothing is. What was withdrawn cannot be claimed. */
export function claimOf(channel: Channel): Claim | null {
  const { id, config, charged, balance, claimed, signature } = channel
  const total = min(charged, balance)
  if (signature === null || total <= claimed) return null
  return { config, voucher: { channelId: id, cumulative: charged, signature }, total }
}

/** What whoever only looks can say; `in use`: a service holds the file, and nobody else may. */
export type ChannelsInspection =
  | { readonly state: 'in use' }
  /** Nothing was ever written, or this is a copy of the file without its log. */
  | { readonly state: 'empty' }
  | {
      readonly state: 'readable'
      readonly version: number
      readonly channels: number
      /** What their payers have signed for and was not claimed. */
      readonly unclaimed: bigint
    }

/** Reads every page and changes nothing. @throws OperatingError where a service would not start with the file */
export function inspectChannels(path: string): ChannelsInspection {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 0 })
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
    if (isBusy(cause)) return { state: 'in use' }
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
    // It holds what buyers signed.
    if (path !== ':memory:') chmodSync(path, 0o600)
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    // An acknowledged voucher survives a power cut.
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
    throw new OperatingError('channels_version', `${path} has schema ${String(version)}`)
}

function versionOf(db: Database.Database): unknown {
  return db.pragma('user_version', { simple: true })
}

function unusable(path: string, cause: unknown): OperatingError {
  if (cause instanceof OperatingError) return cause
  const trouble = isBusy(cause) ? 'are held by another program' : 'cannot be used'
  return new OperatingError('channels_unusable', `the channels in ${path} ${trouble}`, { cause })
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')
}
